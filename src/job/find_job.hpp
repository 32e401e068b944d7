// Finds one job by its id, in any state and queue.
#pragma once

#include "catalog/cache.hpp"
#include "catalog/rights.hpp"
#include "core/flow/waits.hpp"
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
    bool is_aimed = false;                      // for one external worker
    std::optional<core::WaitsFor> waits_for{};  // the job is held
};

// The job, in the queue named or in any queue that the caller has a right on. Nothing if there is
// none. Raises the error of an unknown queue also for a queue that the caller may not know of.
// Raises 55P03 within half a second if the tables of a queue that may contain the job are locked.
// Needs a transaction.
std::optional<FoundJob> find_job(const catalog::Catalogue &catalogue, std::int64_t id,
                                 const std::optional<std::string> &queue);

// The same for a caller that needs `privilege`. Raises 42704 if there is no such job, or if the
// caller may not know of it; 42501 if the caller may know of it but lacks the privilege.
FoundJob require_job(const catalog::Catalogue &catalogue, std::int64_t id,
                     const std::optional<std::string> &queue, catalog::Privilege privilege);

// The same, but returns nothing where require_job() raises the 42704 of a job.
std::optional<FoundJob> find_permitted_job(const catalog::Catalogue &catalogue, std::int64_t id,
                                           const std::optional<std::string> &queue,
                                           catalog::Privilege privilege);

// Raises the 42704 of require_job().
[[noreturn]] void raise_unknown_job(std::int64_t id);

}  // namespace hipq::job
