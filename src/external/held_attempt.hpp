// Finds and locks the attempts that external workers end or ask more time for, and checks that the
// caller may end them.
//
// A job belongs to the role whose worker holds it. A job that hipq.complete_later() left running
// belongs to every role that may work on its queue.
#pragma once

#include "catalog/cache.hpp"
#include "external/attempt_rows.hpp"
#include "external/external.hpp"
#include "job/claimed_job.hpp"
#include "pg/arguments.hpp"

namespace hipq::external {

struct HeldAttempt {
    const catalog::Queue *queue;
    job::ClaimedJob job;
};

// Locking an attempt records a heartbeat of the worker, and keeps the transaction from being
// prepared for a two-phase commit.
//
// Locks the attempt. Raises HQ003 if the attempt is over, 42704 if there is no such job that the
// caller may know of, 42501 if another role holds it, 55000 if an executor runs it.
HeldAttempt hold_attempt(const catalog::Catalogue &catalogue, AttemptName name);

// Returns the ids of the attempts that run, in the order of the names, and leaves the others out.
// Raises 42501 if one is not the caller's.
std::vector<std::int64_t> look_at_attempts(const catalog::Catalogue &catalogue,
                                           std::span<const AttemptName> names);

// Locks many attempts, each once, and returns them in the order of their ids. Leaves out attempts
// that are over, unknown, or held by an executor. Raises 42501 if one is not the caller's.
std::vector<HeldAttempt> hold_attempts(const catalog::Catalogue &catalogue,
                                       std::vector<AttemptName> names, Hold hold = Hold::to_change);

// Names a job by its key, and by its shard key, if given, where keys are unique for each shard key.
struct JobKey {
    std::string type;
    std::string key;
    std::optional<std::string> shard_key;
};
// Reads the arguments job_type, job_key and shard_key.
JobKey job_key_of(const pg::Arguments &arguments);

// Locks the running attempt of the job with this key. Raises 42704 if no unfinished job has it,
// 21000 if several have, 55000 if none of its attempts runs, 22023 for a shard key in a queue whose
// keys are unique as a whole; else as above.
HeldAttempt hold_attempt(const catalog::Catalogue &catalogue, const std::string &queue,
                         const JobKey &key);

// Reads the arguments `ids` and `attempts`. Raises 22004 for nulls, 2202E unless there are as many
// ids as attempts.
std::vector<AttemptName> attempt_names(const pg::Arguments &arguments);
void check_same_number(std::size_t ids, std::size_t others, const char *name);

}  // namespace hipq::external
