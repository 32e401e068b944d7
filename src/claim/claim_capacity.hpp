// Capacity under the throttle limits for the jobs that are to be claimed next, and what becomes of
// those that get none.
#pragma once

#include "claim/batch.hpp"
#include "job/job.hpp"

namespace hipq::claim {

// What each of some jobs of a prefetched batch got. When the queue or the type is full, those
// behind were not asked about.
struct Capacities {
    std::vector<core::Capacity> taken{};
    std::size_t asked_for = 0;

    bool has(std::size_t i) const { return i < taken.size() && taken[i] == core::Capacity::taken; }
    bool is_key_full(std::size_t i) const
    {
        return i < taken.size() && taken[i] == core::Capacity::key_full;
    }
    // Nothing more of this queue or type can be claimed.
    bool are_full() const;
    bool have_all() const;
};

// Where there are no limits all have capacity.
Capacities capacity_for_all(std::size_t jobs);

// Takes capacity, before any row is locked: a lock cannot be given back before the transaction
// ends. Completes what is not known of their weight. Needs a transaction.
Capacities take_capacity(const catalog::Queue &queue, const catalog::JobType &type,
                         std::span<job::DueJob> waiting);

// Whether claimed jobs weigh what capacity was taken for: a row may have been changed meanwhile.
// Both in the same order.
bool weigh_the_same(std::span<const job::ClaimedJob> claimed, std::span<const job::DueJob> waiting);

// Gives back what was left out because its throttle key is full: it stays in the lane until there
// is capacity.
void leave_full_key(const Claimer &claimer, const lanes::WaitingJob &job);

// Gives back what was left out because the queue or the type is full, and all that is left of the
// hand with it.
void put_back_rest(Claimer &claimer, std::span<const lanes::WaitingJob> jobs,
                   const Capacities &capacities, bool any_claimed);

// Gives back what is left of the prefetched batch. Who may run it is asked anew then.
void give_back(Claimer &claimer);

}  // namespace hipq::claim
