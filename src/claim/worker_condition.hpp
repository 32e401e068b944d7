// The condition of jobs that external workers run: whether there is one that may be given a job.
#pragma once

#include "catalog/catalog.hpp"
#include "claim/conditions.hpp"
#include "job/job.hpp"
#include "shared/workers/registered.hpp"

namespace hipq::claim {

// How those fare that serve a job type.
struct Service {
    int present = 0;                     // registered and not ended
    int able = 0;                        // of those, neither draining nor unhealthy
    std::vector<std::int64_t> unable{};  // the others
    bool lacks_share = false;            // they would take more jobs than their roles may have
    std::int64_t next_id = 0;            // who is given the next one; 0: nobody
};
Service service_of(int queue_id, std::string_view job_type);

// Of these workers those that are there under a name, or with the number that the text is; several
// roles may have one each.
std::vector<workers::WorkerRef> workers_named(std::span<const workers::WorkerRef> workers,
                                              std::string_view name);
// The name of the worker of this database with the number that the text is; else the text.
std::string name_meant_by(const std::string &worker);

// Whether external workers run jobs of a type: its handler is `notify`, or it has none and workers
// name it. Needs a transaction.
bool runs_outside(const catalog::Queue &queue, const catalog::JobType &type);

// Needs a transaction.
Condition worker_condition(const catalog::Queue &queue, std::string_view job_type);
// The same for a job that is for one worker alone.
Condition worker_condition(const catalog::Queue &queue, std::string_view job_type,
                           const job::Aim &aim);

}  // namespace hipq::claim
