// Claims jobs of the prefetched batch: first the capacity under limits, then the rows.
//
// Executors and the dispatch to external workers take jobs by the same steps: prefetch
// (take_jobs.hpp), choose, claim and settle. They differ in how a row is written, which they pass
// in.
#pragma once

#include "claim/batch.hpp"
#include "job/job.hpp"
#include "shared/lanes/in_flight.hpp"

#include <functional>

namespace hipq::claim {

// Jobs of the prefetched batch, in order. The span is valid until the batch is given back.
using Chosen = std::span<const lanes::WaitingJob>;

// Chooses the next jobs of the prefetched batch, at most `most`. Leaves out those that the
// scheduler has taken back.
Chosen choose(Claimer &claimer, std::size_t most);

// What each of the chosen jobs got under the throttle limits. When the queue or the type is full,
// the jobs behind are not asked about.
struct Capacities {
    std::vector<core::Capacity> taken{};
    std::size_t asked_for = 0;

    bool has(std::size_t i) const { return i < taken.size() && taken[i] == core::Capacity::taken; }
    bool is_key_full(std::size_t i) const
    {
        return i < taken.size() && taken[i] == core::Capacity::key_full;
    }
    // No more jobs of this queue or type can be claimed.
    bool are_full() const;
    bool have_all() const;
};

// Writes the claim of jobs that have capacity, by locking or updating their rows, at time `now`.
struct Written {
    std::vector<job::ClaimedJob> jobs;  // those that could be claimed, in their order
    std::size_t tried;  // of the jobs, the first ones: no worker is free for the rest
};
using WriteClaim = std::function<Written(std::span<const job::DueJob> jobs, pg::Time now)>;

enum class ClaimOutcome : unsigned char {
    claimed,
    slot_has_left,   // a slot of the jobs has left this node: none may start here
    weight_changed,  // a row was changed since its weight was read
};

struct Claim {
    Capacities capacities;
    std::vector<job::ClaimedJob> jobs{};  // in the order of the chosen ones
    std::size_t tried = 0;                // of the jobs that have capacity
    ClaimOutcome outcome = ClaimOutcome::claimed;
};

// Takes capacity for the chosen jobs of one queue and type, and claims their rows. Needs a
// transaction, which the caller aborts unless the outcome is `claimed` and there are jobs.
Claim claim_chosen(const catalog::Queue &queue, const catalog::JobType &type, Chosen chosen,
                   const WriteClaim &write);

// As if other processes held the rows of all jobs.
Claim none_claimed(std::size_t jobs);

// Returns the chosen jobs that are not among the claimed ones. A job without capacity goes back
// into its lane; one whose row another process holds is tried again after a delay.
void settle(Claimer &claimer, Chosen chosen, const Claim &claim,
            std::span<const job::ClaimedJob> claimed);

// Keeps a job out of its lane until `again`.
void put_off_until(const lanes::WaitingJob &job, pg::Time again);

// Gives back the rest of the prefetched batch because the queue or the type is full.
void give_back_full(Claimer &claimer, bool any_claimed);

// Gives back the rest of the prefetched batch to its lane.
void give_back(Claimer &claimer);

}  // namespace hipq::claim
