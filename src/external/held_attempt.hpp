// The attempts that external workers name when they end them or ask for more time: found, locked,
// and the caller's to end.
//
// A job belongs to the role whose worker has it; one that hipq.complete_later() left running, to
// whoever may work on its queue.
#pragma once

#include "catalog/cache.hpp"
#include "external/external.hpp"
#include "job/claimed_job.hpp"
#include "pg/arguments.hpp"

namespace hipq::external {

struct HeldAttempt {
    const catalog::Queue *queue;
    job::ClaimedJob job;
};

// Each is a sign of life of the worker, and keeps the transaction from being prepared for a
// two-phase commit.
//
// HQ003: the attempt is over. 42704: there is no such job, as far as the caller may know. 42501: it
// is not his. 55000: an executor runs it.
HeldAttempt hold_attempt(const catalog::Catalogue &catalogue, AttemptName name);

// The ids of those that run, in the order of the names. Others are left out; 42501 if one is not
// the caller's.
std::vector<std::int64_t> look_at_attempts(const catalog::Catalogue &catalogue,
                                           std::span<const AttemptName> names);

// Of many, each once, in the order of their ids. Those that are over, unknown, or held by an
// executor are left out; 42501 if one is not the caller's.
std::vector<HeldAttempt> hold_attempts(const catalog::Catalogue &catalogue,
                                       std::vector<AttemptName> names);

// Names the job by its key; where keys are unique for each shard key, also by that, if it is given.
struct JobKey {
    std::string type;
    std::string key;
    std::optional<std::string> shard_key;
};
// Arguments of that meaning, the first two side by side.
JobKey job_key_of(const pg::Arguments &arguments, int type, int shard_key);

// The attempt that runs of the job with this key: 42704 if no unfinished job has it; 21000 if
// several have; 55000 if none of its attempts runs; 22023 for a shard key where that says nothing;
// else as above.
HeldAttempt hold_attempt(const catalog::Catalogue &catalogue, const std::string &queue,
                         const JobKey &key);

// Arguments `ids` and `attempts`: 22004 for nulls, 2202E unless there are as many of one as of the
// other.
std::vector<AttemptName> attempt_names(const pg::Arguments &arguments, int ids, int attempts);
void check_same_number(std::size_t ids, std::size_t others, const char *name);

}  // namespace hipq::external
