// Takes capacity under limits for the jobs to be claimed next, and puts off those that get none.
//
// By the weights that were read with the lane, under the lock of the jobs in flight.
#include "claim/claim_capacity.hpp"

#include "claim/take_jobs.hpp"
#include "claim/weight.hpp"
#include "pg/clock.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/executors/put_off.hpp"
#include "shared/lanes/capacity.hpp"
#include "shared/lanes/in_flight.hpp"

namespace hipq::claim {

using job::ClaimedJob;
using job::DueJob;

bool Capacities::are_full() const
{
    return taken.size() < asked_for ||
           (!taken.empty() && (taken.back() == core::Capacity::queue_full ||
                               taken.back() == core::Capacity::type_full));
}

bool Capacities::have_all() const
{
    return taken.size() == asked_for &&
           std::ranges::count(taken, core::Capacity::taken) == std::ssize(taken);
}

Capacities capacity_for_all(std::size_t jobs)
{
    return {std::vector(jobs, core::Capacity::taken), jobs};
}

Capacities take_capacity(const catalog::Queue &queue, const catalog::JobType &type,
                         std::span<DueJob> waiting)
{
    const core::WeightLimits limits = limits_of(queue, type);
    if (!limits.any())
        return capacity_for_all(waiting.size());
    weigh(queue, waiting);
    std::vector<lanes::Claimant> claimants;
    for (const DueJob &job : waiting)  // one that is gone weighs nothing, and is not claimed
        claimants.push_back({job.id, {job.weight, core::name_hash(type.name), job.key}});
    Capacities capacities{lanes::take_capacity(claimants, limits), waiting.size()};
    if (limits.is_shared && !capacities.have_all())
        databases::ask_for_shares(MyDatabaseId);
    return capacities;
}

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

void leave_full_key(const Claimer &claimer, const lanes::WaitingJob &job)
{
    if (job.key == 0)
        executors::put_back(job);  // there was no limit yet when the lane was read: it is read
                                   // again with its weight
    else
        executors::put_off_full(job, core::name_hash(claimer.prefetched.job_type),
                                pg::now() + longest_wait_for_capacity);
}

void put_back_rest(Claimer &claimer, std::span<const lanes::WaitingJob> jobs,
                   const Capacities &capacities, bool any_claimed)
{
    for (std::size_t i = 0; i < jobs.size(); ++i)
        if (!capacities.has(i) && !capacities.is_key_full(i))
            executors::put_back(jobs[i]);
    const int queue_id = claimer.prefetched.queue_id;
    const std::uint64_t type = core::name_hash(claimer.prefetched.job_type);
    give_back(claimer);
    // Whoever was told of capacity before they were back in the lane has not seen them; and this
    // executor may be busy now.
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
