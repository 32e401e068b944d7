// Takes capacity under limits for chosen jobs, has their rows claimed, and returns the others.
//
// Capacity is taken before any row is locked, because a row lock cannot be released before the
// transaction ends. The weights were read with the lane; they are compared with the claimed rows.
#include "claim/claim.hpp"

#include "catalog/cache.hpp"
#include "claim/conditions.hpp"
#include "claim/take_jobs.hpp"
#include "claim/weight.hpp"
#include "core/job/validate.hpp"
#include "job/claimed_job.hpp"
#include "job/job_row.hpp"
#include "pg/clock.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/executors/put_off.hpp"
#include "shared/lanes/capacity.hpp"
#include "shared/lanes/in_flight.hpp"

namespace hipq::claim {

namespace {

using job::ClaimedJob;
using job::DueJob;
using lanes::WaitingJob;

Capacities capacity_for_all(std::size_t jobs)
{
    return {std::vector(jobs, core::Capacity::taken), jobs};
}

std::vector<DueJob> due_jobs_of(Chosen chosen)
{
    std::vector<DueJob> due;
    due.reserve(chosen.size());
    for (const WaitingJob &job : chosen)
        due.push_back({job.id, job.place, job.due, job.is_weighed, job.weight, job.key, job.next});
    return due;
}

// Takes capacity for the jobs, after it has looked up the weights that are not known yet.
Capacities take_capacity(const catalog::Queue &queue, const catalog::JobType &type,
                         const core::WeightLimits &limits, std::span<DueJob> waiting)
{
    if (!limits.any())
        return capacity_for_all(waiting.size());
    weigh(queue, waiting);
    std::vector<lanes::Claimant> claimants;
    for (const DueJob &job : waiting)  // a job that is gone weighs nothing, and is not claimed
        claimants.push_back({job.id, {job.weight, core::name_hash(type.name), job.key}});
    Capacities capacities{lanes::take_capacity(claimants, limits), waiting.size()};
    if (limits.is_shared && !capacities.have_all())
        databases::ask_for_shares(MyDatabaseId);
    return capacities;
}

void leave_those_with_capacity(std::vector<DueJob> &waiting, const Capacities &capacities)
{
    for (std::size_t i = waiting.size(); i-- > 0;)
        if (!capacities.has(i))
            waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
}

// Whether the claimed jobs weigh as much as the capacity taken for them. Both are in the same
// order.
bool weigh_the_same(std::span<const ClaimedJob> claimed, std::span<const DueJob> waiting)
{
    auto before = waiting.begin();
    return std::all_of(claimed.begin(), claimed.end(), [&](const ClaimedJob &job) {
        before = std::find_if(before, waiting.end(),
                              [&](const DueJob &each) { return each.id == job.id; });
        const core::Load load = load_of(job);
        return before != waiting.end() && before->weight == load.weight && before->key == load.key;
    });
}

void leave_full_key(const Claimer &claimer, const WaitingJob &job)
{
    if (job.key == 0)
        executors::put_back(job);  // the lane was read before there was a limit: read the row
                                   // again, with its weight
    else
        executors::put_off_full(job, core::name_hash(claimer.prefetched.job_type),
                                pg::now() + longest_wait_for_capacity);
}

}  // namespace

void put_back(Claimer &claimer, const Capacities &capacities, Chosen chosen, std::size_t i)
{
    if (capacities.is_key_full(i))
        leave_full_key(claimer, chosen[i]);
    else
        executors::put_back(chosen[i]);
}

bool Capacities::are_full() const
{
    return taken.size() < asked_for ||
           (!taken.empty() && !core::leaves_room_for_others(taken.back()));
}

bool Capacities::have_no_turn() const
{
    return !taken.empty() && (taken.back() == core::Capacity::rate_used ||
                              taken.back() == core::Capacity::breaker_open);
}

bool Capacities::have_all() const
{
    return taken.size() == asked_for &&
           std::ranges::count(taken, core::Capacity::taken) == std::ssize(taken);
}

Chosen choose(Claimer &claimer, std::size_t most)
{
    Prefetched &prefetched = claimer.prefetched;
    const std::size_t count = std::min(most, prefetched.jobs.size() - prefetched.next);
    const std::span<WaitingJob> next(prefetched.jobs.data() + prefetched.next, count);
    prefetched.next += count;
    return next.first(lanes::choose_jobs(next));
}

WithCapacity take_capacity(const catalog::Queue &queue, const catalog::JobType &type, Chosen chosen)
{
    WithCapacity result{{}, due_jobs_of(chosen)};
    result.capacities = take_capacity(queue, type, limits_of(queue, type), result.jobs);
    leave_those_with_capacity(result.jobs, result.capacities);
    return result;
}

Claim claim_chosen(const catalog::Queue &queue, const catalog::JobType &type, Chosen chosen,
                   const WriteClaim &write)
{
    WithCapacity waiting = take_capacity(queue, type, chosen);
    Claim claim{std::move(waiting.capacities)};
    if (waiting.jobs.empty())
        return claim;
    const core::WeightLimits limits = limits_of(queue, type);
    std::vector<ClaimedJob> written = write(waiting.jobs, pg::now());
    if (have_left(queue, written))
        claim.outcome = ClaimOutcome::slot_has_left;
    else if (limits.any() && !weigh_the_same(written, waiting.jobs))
        claim.outcome = ClaimOutcome::weight_changed;
    else
        claim.jobs = std::move(written);
    for (ClaimedJob &job : claim.jobs)
        job.has_breaker = limits.breaker.any();
    return claim;
}

bool may_still_start(const catalog::Queue &queue, const ClaimedJob &job,
                     const std::optional<core::Load> &counted, const core::Admission &admission,
                     pg::Time now)
{
    using core::Column;
    const catalog::JobType *type = queue.find_job_type(job.type);
    if (type == nullptr || queue.has_left_in_order(job.id) ||
        !pause_condition(queue, job.type, job.values->as_text(Column::throttle_key)).passed())
        return false;
    const std::string_view windows = job.values->as_text(Column::time_windows);
    if (windows != core::none_text && StartWindows(queue.id, job.type, now).opens(windows) > now)
        return false;
    const core::WeightLimits limits = limits_of(queue, *type);
    if (!limits.any())
        return true;
    const core::Load load = load_of(job);
    if (load.weight > 0 && !admission.suffices(limits.rates, load.key))
        return false;
    if (limits.breaker.any() && !admission.by_breaker)
        return false;
    return counted.has_value() && counted->weight == load.weight && counted->key == load.key;
}

Claim none_claimed(std::size_t jobs)
{
    return {capacity_for_all(jobs)};
}

void settle(Claimer &claimer, Chosen chosen, const Capacities &capacities,
            std::span<const ClaimedJob> claimed)
{
    auto next = claimed.begin();
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const WaitingJob &job = chosen[i];
        if (next != claimed.end() && next->id == job.id) {
            ++next;
            if (claimer.held.size() > 0)
                claimer.held.forget(job.id);
        } else if (capacities.has(i)) {
            put_off_until(job, claimer.held.note(job.id, pg::now()));
        } else {
            put_back(claimer, capacities, chosen, i);
        }
    }
}

void put_off_until(const WaitingJob &job, pg::Time again)
{
    executors::put_off(job, again);
    databases::work_due(MyDatabaseId, again);  // this process may be busy then
}

void give_back_full(Claimer &claimer, bool any_claimed)
{
    const int queue_id = claimer.prefetched.queue_id;
    const std::uint64_t type = core::name_hash(claimer.prefetched.job_type);
    give_back(claimer);
    // A process that was woken because of capacity before these jobs were back in the lane has not
    // seen them, and this process may be busy now.
    if (any_claimed && !lanes::waits_for_capacity(queue_id) &&
        !lanes::waits_for_capacity(queue_id, type))
        databases::look_due(MyDatabaseId, pg::Time{0});
}

void give_back(Claimer &claimer)
{
    lanes::release_prefetched();
    claimer.prefetched = Prefetched{};
}

}  // namespace hipq::claim
