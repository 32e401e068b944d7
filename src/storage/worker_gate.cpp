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
    const std::string worker = "external worker \"" + aim.worker + "\"";
    const auto services = worker_services();
    bool is_there = false;
    for (const shmem::WorkerRef &each : services->serving(queue.id, job_type)) {
        const auto slot = shmem::find_worker(each.id);
        is_there = is_there || (slot.has_value() && slot->state == shmem::WorkerState::present && slot->name == aim.worker);
    }
    const std::string until = pg::clock_text(aim.ends);
    if (!is_there)
        return {"worker", false,
                "It is for " + worker + ", which does not serve job type \"" + std::string(job_type) +
                    "\" now. If it does not come by " + until + " the attempt has failed (worker_unavailable)."};
    return {"worker", true, "It is for " + worker + ", until " + until + "."};
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
