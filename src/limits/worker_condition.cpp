// Tells whether an external worker can take a job.
//
// By the predicates of dispatch itself.
#include "worker_condition.hpp"

#include "pg/clock.hpp"

namespace hipq::limits {

namespace {

std::string name_of_worker(std::int64_t id)
{
    const auto worker = workers::find_worker(id);
    return worker.has_value() ? worker->name : std::to_string(id);
}

}  // namespace

std::vector<workers::WorkerRef> workers_named(std::span<const workers::WorkerRef> workers,
                                              std::string_view name)
{
    std::vector<workers::WorkerRef> named;
    for (const workers::WorkerRef &worker : workers)
        if (const auto slot = workers::find_worker(worker.id);
            slot.has_value() && slot->state == workers::WorkerState::present && slot->name == name)
            named.push_back(worker);
    return named;
}

Service service_of(int queue_id, std::string_view job_type)
{
    Service service;
    const core::HealthLimits limits = workers::health_limits();
    const pg::Time now = pg::now();
    const auto services = catalog::worker_services();
    const std::span<const workers::WorkerRef> workers = services->serving(queue_id, job_type);
    const workers::JobShares shares;
    for (const workers::WorkerRef &worker : workers) {
        const auto slot = workers::find_worker(worker.id);
        if (!slot.has_value() || slot->state != workers::WorkerState::present)
            continue;
        const core::Candidate candidate = workers::candidate_of(*slot, limits, now);
        ++service.present;
        service.able +=
            candidate.is_draining || candidate.health == core::Health::unhealthy ? 0 : 1;
    }
    service.lacks_share = workers::capacity_for_jobs(workers, shares).wanted > 0;
    service.next_id = workers::choose_worker(workers, shares).id.value_or(0);
    return service;
}

bool runs_outside(const catalog::Queue &queue, const catalog::JobType &type)
{
    if (type.handler_kind == catalog::HandlerKind::notify)
        return true;
    return type.handler_kind == catalog::HandlerKind::none &&
           !catalog::worker_services()->serving(queue.id, type.name).empty();
}

Condition worker_condition(const catalog::Queue &queue, std::string_view job_type,
                           const job::Aim &aim)
{
    const std::vector<workers::WorkerRef> named =
        workers_named(catalog::worker_services()->serving(queue.id, job_type), aim.worker);
    const std::string its = "It is for external worker \"" + aim.worker + "\"";
    const std::string end = " If it is not given the job by " + pg::clock_text(aim.ends) +
                            " the attempt has failed (worker_unavailable).";
    if (named.empty())
        return {"worker", false,
                its + ", which does not serve job type \"" + std::string(job_type) + "\" now." +
                    end};
    const workers::CapacityForJobs capacity =
        workers::capacity_for_jobs(named, workers::JobShares());
    if (capacity.shared > 0)
        return {"worker", true, its + ", which gets it next."};
    if (capacity.wanted > 0)
        return {"worker", false,
                its + ", whose role has the share of hipq.max_running that is for it." + end, true};
    return {"worker", false,
            its + ", which has as many jobs as it takes at a time, drains or is unhealthy." + end,
            true};
}

Condition worker_condition(const catalog::Queue &queue, std::string_view job_type)
{
    const Service service = service_of(queue.id, job_type);
    const std::string quoted = "\"" + std::string(job_type) + "\"";
    const std::string count =
        std::to_string(service.present) + " external worker(s) serve job type " + quoted;
    if (service.present == 0)
        return {"worker", false,
                "No external worker serves job type " + quoted +
                    ": programs that do, and are capable of what it requires, register with "
                    "hipq.register_worker()."};
    if (service.next_id != 0)
        return {"worker", true,
                count + "; \"" + name_of_worker(service.next_id) + "\" gets the next job."};
    if (service.able == 0)
        return {"worker", false,
                count + ", but all of them drain or are unhealthy: see hipq.workers."};
    if (service.lacks_share)
        return {"worker", false,
                count + ", but their role has the share of hipq.max_running that is for it: it "
                        "gets more when jobs have ended.",
                true};
    return {"worker", false, count + ", and have as many jobs as they take at a time.", true};
}

}  // namespace hipq::limits
