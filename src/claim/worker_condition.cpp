// Tells whether an external worker can take a job.
//
// Uses the predicates of dispatch itself.
#include "claim/conditions.hpp"

#include "catalog/cache.hpp"
#include "catalog/worker_rows.hpp"
#include "job/aimed_jobs.hpp"
#include "pg/clock.hpp"
#include "shared/workers/jobs.hpp"
#include "shared/workers/registered.hpp"

#include <charconv>

namespace hipq::claim {

using core::Finding;

std::vector<workers::WorkerRef> workers_named(std::span<const workers::WorkerRef> workers,
                                              std::string_view name)
{
    std::vector<workers::WorkerRef> named;
    for (const workers::WorkerRef &worker : workers)
        if (const auto slot = workers::find_worker(worker.id);
            slot.has_value() && slot->state == workers::WorkerState::present &&
            (slot->name == name || std::to_string(slot->id) == name))
            named.push_back(worker);
    return named;
}

std::string name_meant_by(const std::string &worker)
{
    std::int64_t id = 0;
    const auto [end, error] = std::from_chars(worker.data(), worker.data() + worker.size(), id);
    if (error != std::errc{} || end != worker.data() + worker.size())
        return worker;
    const auto slot = workers::find_worker(id);
    return slot.has_value() ? std::string(slot->name) : worker;
}

namespace {

// Counts which of these workers are present, and lists those that drain or are unhealthy.
Service judge(std::span<const workers::WorkerRef> workers)
{
    Service service;
    const core::HealthLimits limits = workers::health_limits();
    const pg::Time now = pg::now();
    for (const workers::WorkerRef &worker : workers) {
        const auto slot = workers::find_worker(worker.id);
        if (!slot.has_value() || slot->state != workers::WorkerState::present)
            continue;
        ++service.present;
        const core::Candidate candidate = workers::candidate_of(*slot, limits, now);
        if (candidate.is_draining || candidate.health == core::Health::unhealthy)
            service.unable.push_back(slot->id);
        else
            ++service.able;
    }
    return service;
}

}  // namespace

Service service_of(int queue_id, std::string_view job_type)
{
    const auto services = catalog::worker_services();
    const std::span<const workers::WorkerRef> workers = services->serving(queue_id, job_type);
    const workers::JobShares shares;
    Service service = judge(workers);
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

std::optional<Condition> offer_condition(std::int64_t job_id, pg::Time now)
{
    const auto entry = workers::find_external_job(job_id);
    if (!entry.has_value() || entry->is_accepted)
        return std::nullopt;
    return Condition{Finding::worker_is_offered,
                     OfferFacts{entry->worker_id, entry->deadline, now}};
}

Condition worker_condition(const catalog::Queue &queue, std::string_view job_type,
                           const job::Aim &aim)
{
    const std::vector<workers::WorkerRef> named =
        workers_named(catalog::worker_services()->serving(queue.id, job_type), aim.worker);
    AimFacts facts{job_type, aim};
    if (named.empty())
        return {Finding::own_worker_serves_not, std::move(facts)};
    const workers::CapacityForJobs capacity =
        workers::capacity_for_jobs(named, workers::JobShares());
    if (capacity.shared > 0)
        return {Finding::own_worker_gets_next, std::move(facts)};
    if (capacity.wanted > 0)
        return {Finding::own_worker_has_share, std::move(facts)};
    Service service = judge(named);
    facts.unable = std::move(service.unable);
    return {service.able == 0 ? Finding::own_worker_is_unable : Finding::own_worker_is_full,
            std::move(facts)};
}

Condition worker_condition(const catalog::Queue &queue, std::string_view job_type)
{
    Service service = service_of(queue.id, job_type);
    const ServiceFacts facts{job_type, service.present, service.next_id, std::move(service.unable)};
    if (service.present == 0)
        return {Finding::no_worker_serves, facts};
    if (service.next_id != 0)
        return {Finding::worker_gets_next, facts};
    if (service.able == 0)
        return {Finding::no_worker_is_able, facts};
    return {service.lacks_share ? Finding::roles_have_their_share : Finding::workers_are_full,
            facts};
}

}  // namespace hipq::claim
