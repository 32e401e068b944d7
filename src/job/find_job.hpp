// One job by its id, wherever it stands.
#pragma once

#include "catalog/catalog.hpp"
#include "core/job/state.hpp"

namespace hipq::job {

struct FoundJob {
    const catalog::Queue *queue;
    std::int64_t id;
    core::JobState state;
    std::string type;
    std::string key;
    pg::Time due;
    pg::Time expires;
    std::string time_windows;
    std::string throttle_key;
    core::Weight weight;  // its throttle_factor
    int priority;
    bool is_aimed = false;  // at one external worker
    bool follows = false;   // it is to follow the job that holds its key, and not waiting yet
};

// The job, in the queue named or in any that the caller has a right on. Nothing if there is none.
// Raises the error of an unknown queue also for one that the caller may not know of; 55P03 within
// half a second when the tables of a queue are locked in which it may be. Needs a transaction.
std::optional<FoundJob> find_job(const catalog::Catalogue &catalogue, std::int64_t id,
                                 const std::optional<std::string> &queue);

// The same for a caller who needs one of `privileges`: 42704 when there is no such job, and also
// when the caller has no right to know; 42501 when he may know of it but not do this.
FoundJob require_job(const catalog::Catalogue &catalogue, std::int64_t id,
                     const std::optional<std::string> &queue, catalog::Privilege privilege);

// The same, but for nothing where that raises the 42704 of a job.
std::optional<FoundJob> find_permitted_job(const catalog::Catalogue &catalogue, std::int64_t id,
                                           const std::optional<std::string> &queue,
                                           catalog::Privilege privilege);

// The 42704 of require_job.
[[noreturn]] void raise_unknown_job(std::int64_t id);

}  // namespace hipq::job
