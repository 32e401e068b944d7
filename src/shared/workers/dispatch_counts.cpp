// Records a worker's jobs, their outcomes, and its signs of life.
#include "core/recovery/crash_report.hpp"
#include "core/workers/worker_choice.hpp"
#include "core/workers/worker_health.hpp"
#include "pg/clock.hpp"
#include "pg/compat.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/memory/registry.hpp"
#include "shared/workers/worker_table.hpp"

namespace hipq::workers {

namespace {

void keep_clocks(WorkerSlot &slot, const core::HealthLimits &limits, pg::Time now)
{
    core::keep_asked(slot.record, slot.running < slot.capacity, limits, now.value);
    core::keep_probe_clock(slot.record, limits, now.value);
}

template <class Change>
bool change(std::int64_t id, const Change &change_slot) noexcept
{
    if (!memory::is_loaded())
        return false;
    const core::HealthLimits limits = health_limits();
    const pg::Time now = pg::now();
    const WorkerLock lock(LW_EXCLUSIVE);
    WorkerSlot *slot = find_slot(MyDatabaseId, id);
    if (slot == nullptr || !is_visible(*slot))
        return false;
    change_slot(*slot);
    keep_clocks(*slot, limits, now);
    return true;
}

void note_sign_of_life(WorkerSlot &slot, pg::Time now)
{
    slot.heartbeat = now;
    core::note_sign_of_life(slot.record, now.value);
}

// Limits the looks caused by a worker whose reports alternate between healthy and unhealthy.
constexpr std::int64_t turn_interval = 1'000'000;  // us

void take_one(int &count)
{
    count = std::max(count - 1, 0);
}

}  // namespace

std::optional<Choice> note_dispatched(std::int64_t id) noexcept
{
    const core::HealthLimits limits = health_limits();
    const pg::Time now = pg::now();
    const WorkerLock lock(LW_EXCLUSIVE);
    WorkerSlot *slot = find_present(id);
    if (slot == nullptr || slot->state != WorkerState::present)
        return std::nullopt;
    const core::Candidate candidate = candidate_of(*slot, limits, now);
    if (core::capacity_for_jobs(candidate) == 0)
        return std::nullopt;
    if (candidate.may_be_probed)
        core::note_probe(slot->record, now.value);
    ++slot->record.depth;
    keep_clocks(*slot, limits, now);
    slot->last_chosen = ++worker_table().choices;
    return Choice{{id, static_cast<std::int32_t>(slot - worker_table().slots)},
                  candidate.may_be_probed};
}

void note_not_given(const Choice &choice) noexcept
{
    const core::HealthLimits limits = health_limits();
    const pg::Time now = pg::now();
    change(choice.worker.id, [&](WorkerSlot &slot) {
        take_one(slot.record.depth);
        if (choice.is_probe)
            core::note_no_probe(slot.record, limits, now.value);
    });
}

std::size_t note_taken(std::int64_t id, std::size_t most, std::size_t ended) noexcept
{
    const pg::Time now = pg::now();
    std::size_t count = 0;
    change(id, [&](WorkerSlot &slot) {
        const int free = std::max(slot.capacity + static_cast<int>(ended) - slot.running, 0);
        count = std::min(most, static_cast<std::size_t>(free));
        slot.running += static_cast<int>(count);
        slot.record.depth = std::max(slot.record.depth - static_cast<int>(count), 0);
        note_sign_of_life(slot, now);
    });
    return count;
}

void note_given_back(std::int64_t id) noexcept
{
    change(id, [](WorkerSlot &slot) {
        take_one(slot.running);
        ++slot.record.depth;
    });
}

void note_finished(std::int64_t id, core::Execution execution, std::int64_t run_time,
                   bool was_probe) noexcept
{
    change(id, [&](WorkerSlot &slot) {
        take_one(slot.running);
        core::note_execution(slot.record, execution, run_time, was_probe);
    });
}

void note_expired(std::int64_t id) noexcept
{
    change(id, [](WorkerSlot &slot) {
        take_one(slot.record.depth);
        core::note_expiry(slot.record);
    });
}

void note_returned(std::int64_t id, Holding holding) noexcept
{
    change(id, [&](WorkerSlot &slot) {
        take_one(holding == Holding::offered ? slot.record.depth : slot.running);
    });
}

void note_held(std::int64_t id) noexcept
{
    change(id, [](WorkerSlot &slot) { ++slot.running; });
}

void note_in_flight(std::int64_t id, int offered, int running) noexcept
{
    change(id, [&](WorkerSlot &slot) {
        slot.record.depth = offered;
        slot.running = running;
    });
}

bool note_heartbeat(std::int64_t id, const core::SelfReport *report) noexcept
{
    const core::HealthLimits limits = health_limits();
    const pg::Time now = pg::now();
    bool has_turned = false;
    pg::Time turned_before = never;
    const bool is_there = change(id, [&](WorkerSlot &slot) {
        const core::Health before = core::judge(slot.record, limits, now.value);
        note_sign_of_life(slot, now);
        if (report != nullptr)
            slot.record.report = *report;
        const core::Health after = core::judge(slot.record, limits, now.value);
        has_turned = (before == core::Health::unhealthy) != (after == core::Health::unhealthy);
        if (has_turned)
            turned_before = std::exchange(slot.turned, now);
    });
    if (has_turned && (turned_before + turn_interval < now || turned_before > now))
        databases::ask_for_dispatch(
            MyDatabaseId);  // jobs may have waited for it, or need another worker
    else if (has_turned)
        databases::work_due(MyDatabaseId, now + turn_interval);
    return is_there;
}

void keep_probe_clocks() noexcept
{
    const core::HealthLimits limits = health_limits();
    const pg::Time now = pg::now();
    const WorkerLock lock(LW_EXCLUSIVE);
    for (WorkerSlot &slot : worker_slots())
        if (slot.state == WorkerState::present && slot.database == MyDatabaseId)
            core::keep_probe_clock(slot.record, limits, now.value);
}

namespace {

constinit bool watches_waits = false;

extern "C" void hipq_waiting_worker_exits(int, Datum)
{
    const WorkerLock lock(LW_EXCLUSIVE);
    for (WorkerSlot &slot : worker_slots())
        if (slot.waiting == pg::own_number())
            slot.waiting = memory::no_process;
}

}  // namespace

bool note_waiting_for_jobs(std::int64_t id)
{
    if (!std::exchange(watches_waits, true))
        pg::call([] { ::on_shmem_exit(hipq_waiting_worker_exits, Datum{0}); });
    bool is_woken = false;
    change(id, [&](WorkerSlot &slot) {
        if (slot.waiting == memory::no_process)
            slot.waiting = pg::own_number();
        is_woken = slot.waiting == pg::own_number();
    });
    return is_woken;
}

bool is_waited_for(const WorkerRef &worker) noexcept
{
    const WorkerLock lock(LW_SHARED);
    const WorkerSlot *slot = find_slot(worker);
    return slot != nullptr && slot->waiting != memory::no_process;
}

void note_end_of_waiting(std::int64_t id) noexcept
{
    change(id, [](WorkerSlot &slot) {
        if (slot.waiting == pg::own_number())
            slot.waiting = memory::no_process;
    });
}

void wake_waiting_worker(const WorkerRef &worker) noexcept
{
    const WorkerLock lock(LW_SHARED);
    if (const WorkerSlot *slot = find_slot(worker))
        memory::wake_process(slot->waiting);
}

}  // namespace hipq::workers
