// By the predicates of dispatch itself.
#include "worker_gate.hpp"

#include "pg/clock.hpp"

namespace hipq::storage {

namespace {

std::string name_of_worker(std::int64_t id)
{
    const auto worker = shmem::find_worker(id);
    return worker.has_value() ? worker->name : std::to_string(id);
}

}  // namespace

std::vector<shmem::WorkerRef> workers_named(std::span<const shmem::WorkerRef> workers, std::string_view name)
{
    std::vector<shmem::WorkerRef> named;
    for (const shmem::WorkerRef &worker : workers)
        if (const auto slot = shmem::find_worker(worker.id);
            slot.has_value() && slot->state == shmem::WorkerState::present && slot->name == name)
            named.push_back(worker);
    return named;
}

Service service_of(int queue_id, std::string_view job_type)
{
    Service service;
    const core::HealthLimits limits = shmem::health_limits();
    const pg::Time now = pg::now();
    const auto services = worker_services();
    const std::span<const shmem::WorkerRef> workers = services->serving(queue_id, job_type);
    const shmem::JobShares shares;
    for (const shmem::WorkerRef &worker : workers) {
        const auto slot = shmem::find_worker(worker.id);
        if (!slot.has_value() || slot->state != shmem::WorkerState::present)
            continue;
        const core::Candidate candidate = shmem::candidate_of(*slot, limits, now);
        ++service.present;
        service.able += candidate.is_draining || candidate.health == core::Health::unhealthy ? 0 : 1;
    }
    service.lacks_share = shmem::room_for_jobs(workers, shares).wanted > 0;
    service.next_id = shmem::choose_worker(workers, shares).id.value_or(0);
    return service;
}

bool runs_outside(const Queue &queue, const JobType &type)
{
    if (type.handler_kind == HandlerKind::notify)
        return true;
    return type.handler_kind == HandlerKind::none && !worker_services()->serving(queue.id, type.name).empty();
}

Gate worker_gate(const Queue &queue, std::string_view job_type, const Aim &aim)
{
    const std::vector<shmem::WorkerRef> named = workers_named(worker_services()->serving(queue.id, job_type), aim.worker);
    const std::string its = "It is for external worker \"" + aim.worker + "\"";
    const std::string end =
        " If it is not given the job by " + pg::clock_text(aim.ends) + " the attempt has failed (worker_unavailable).";
    if (named.empty())
        return {"worker", false, its + ", which does not serve job type \"" + std::string(job_type) + "\" now." + end};
    const shmem::RoomForJobs room = shmem::room_for_jobs(named, shmem::JobShares());
    if (room.shared > 0)
        return {"worker", true, its + ", which gets it next."};
    if (room.wanted > 0)
        return {"worker", false, its + ", whose role has the share of hipq.max_running that is for it." + end, true};
    return {"worker", false, its + ", which has as many jobs as it takes at a time, drains or is unhealthy." + end, true};
}

Gate worker_gate(const Queue &queue, std::string_view job_type)
{
    const Service service = service_of(queue.id, job_type);
    const std::string quoted = "\"" + std::string(job_type) + "\"";
    const std::string count = std::to_string(service.present) + " external worker(s) serve job type " + quoted;
    if (service.present == 0)
        return {"worker", false,
                "No external worker serves job type " + quoted +
                    ": programs that do, and are capable of what it requires, register with hipq.register_worker()."};
    if (service.next_id != 0)
        return {"worker", true, count + "; \"" + name_of_worker(service.next_id) + "\" gets the next job."};
    if (service.able == 0)
        return {"worker", false, count + ", but all of them drain or are unhealthy: see hipq.workers."};
    if (service.lacks_share)
        return {"worker", false,
                count + ", but their role has the share of hipq.max_running that is for it: it gets more when jobs have ended.",
                true};
    return {"worker", false, count + ", and have as many jobs as they take at a time.", true};
}

}  // namespace hipq::storage
