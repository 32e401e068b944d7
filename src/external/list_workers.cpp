// The functions behind the views of external workers.
#include "shared/workers/registered.hpp"

#include "catalog/rights.hpp"
#include "catalog/visible_queues.hpp"
#include "catalog/worker_rows.hpp"
#include "pg/arguments.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"

namespace hipq::external {

namespace {

using workers::WorkerSlot;

struct Seen {
    WorkerSlot slot;
    core::Candidate candidate;
};

constinit pg::Statement select_servants(R"(
    SELECT worker.worker_id
    FROM hipq.worker
    WHERE EXISTS (
        SELECT FROM hipq.queue
        JOIN hipq.instance ON instance.instance_id = queue.instance_id
        WHERE queue.queue_id = ANY ($1) AND instance.name || '.' || queue.name = ANY (worker.queues)))");

// Returns the workers that serve a queue which the caller may read.
std::set<std::int64_t> servants(catalog::VisibleQueues &visible_queues)
{
    std::set<std::int64_t> ids;
    const std::vector<std::int32_t> queues = visible_queues.readable();
    const std::vector<std::int64_t> numbers(queues.begin(), queues.end());
    const pg::Rows rows = pg::as_hipq([&] { return select_servants.run(numbers); });
    for (const pg::Row row : rows)
        ids.insert(row.integer(0));
    return ids;
}

// Monitors see all workers; other roles see their own, and those that serve queues they may read.
std::vector<WorkerSlot> visible_workers()
{
    std::vector<WorkerSlot> slots = workers::list_workers();
    catalog::VisibleQueues visible_queues;
    if (visible_queues.is_whole())
        return slots;
    const std::set<std::int64_t> known = servants(visible_queues);
    std::erase_if(slots, [&](const WorkerSlot &slot) {
        return !known.contains(slot.id) &&
               !pg::call([&] { return ::has_privs_of_role(catalog::caller(), slot.role); });
    });
    return slots;
}

void list_workers(FunctionCallInfo fcinfo)
{
    pg::ResultSet result(fcinfo);
    catalog::read_workers();
    const core::HealthLimits limits = workers::health_limits();
    const pg::Time now = pg::now();
    std::vector<Seen> seen;
    for (const WorkerSlot &slot : visible_workers())
        seen.push_back({slot, workers::candidate_of(slot, limits, now)});
    for (Seen &one : seen)  // show the worker's own state, whatever dispatch tries with it
        one.candidate.may_be_probed = false;
    std::sort(seen.begin(), seen.end(), [](const Seen &one, const Seen &other) {
        return core::is_better(one.candidate, other.candidate);
    });
    std::int32_t place = 0;
    for (const auto &[slot, candidate] : seen) {
        const core::HealthSummary health = core::summarize(slot.record, limits, now.value);
        const bool is_active = !core::is_stale(slot.record, limits, now.value);
        result.add(slot.id, ++place, is_active, core::name(health.status), now,
                   std::int32_t{health.counts.consecutive_failures}, health.counts.executions,
                   health.counts.failures, health.counts.average_ms,
                   std::int32_t{health.queue_depth}, health.failure_rate,
                   std::int32_t{slot.running},
                   slot.record.was_heard ? std::optional(slot.heartbeat) : std::nullopt,
                   slot.record.is_bound ? std::optional(std::int32_t{slot.pid}) : std::nullopt);
    }
}

void list_services(FunctionCallInfo fcinfo)
{
    pg::ResultSet result(fcinfo);
    catalog::read_workers();
    const auto services = catalog::worker_services();
    catalog::VisibleQueues visible_queues;
    const workers::JobShares shares;
    for (const auto &[queue_id, types] : services->by_queue())
        for (const auto &[type, workers] : types) {
            if (visible_queues.visible(queue_id) == nullptr)
                continue;
            const workers::ChosenWorker chosen = workers::choose_worker(workers, shares);
            result.add(std::int32_t{queue_id}, type, std::int32_t{chosen.present}, chosen.id);
        }
}

}  // namespace

}  // namespace hipq::external

HIPQ_FUNCTION(hipq__worker_services)
{
    hipq::external::list_services(fcinfo);
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__workers)
{
    hipq::external::list_workers(fcinfo);
    return hipq::pg::return_void();
}
