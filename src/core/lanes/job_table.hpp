// The jobs in flight: a hash table over memory that its user provides, so that it can live in
// shared memory.
//
// Plain data, no pointers, no allocation, straight-line code. At most one entry per job. Each entry
// belongs to a holder (an executor, an external worker ...), whose entries are linked. The caller
// does the locking.
#pragma once

#include "core/lanes/lane.hpp"
#include "core/limits/throttle.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace hipq::core {

inline constexpr std::int32_t no_entry = -1;

// A job is first reserved, so that no other process takes it, then chosen to be next, then running:
// its claim is, or is about to be, durable. Chosen for an external worker, it is offered until the
// worker accepts it.
enum class JobPhase : unsigned char { reserved, offered, chosen, running };

// The position of a job's row in its table, in PostgreSQL's numbering. Line 0: unknown.
struct RowPlace {
    std::uint32_t block;
    std::uint16_t line;
};

struct JobEntry {
    std::uint64_t serial;  // unique among all entries
    std::int64_t job_id;
    std::uint32_t database;
    std::int32_t queue_id;
    std::int32_t attempt;  // the one that runs or will run
    std::int32_t holder;
    std::int32_t next;  // in its bucket, or in the list of free entries
    std::int32_t next_of_holder;
    std::int32_t previous_of_holder;
    LaneRef lane;  // the lane and due time that it came from, for its return
    std::int64_t due;
    std::int64_t deadline;  // of an external worker's job: to accept it, then to end it
    RowPlace place;         // the position of its row, which may have moved since
    JobPhase phase;
    bool is_accepted;   // by the external worker that holds it
    bool is_probe;      // it was offered to that worker to find out whether it works again
    bool is_closed;     // its code has ended, and the consequences cannot be stopped any more
    bool is_cancelled;  // its holder was told to cancel it
    bool is_weighed;    // it counts in these limiters, with this weight, until the entry is erased
    bool is_rated;      // it was admitted under these rates, with this weight
    bool is_started;    // and has started
    bool has_breaker;   // this breaker admitted it, and waits for its end
    std::array<std::int32_t, limiters_per_job> limiters;
    std::array<std::int32_t, rates_per_job> rates;
    std::int32_t breaker;
    std::uint32_t breaker_generation;
    Weight weight;
    Weight rated_weight;
};

// The result of a request for capacity. If a limit is full, the job waits there. A rate is used up,
// or a breaker open, for a time: a look at them tells until when.
enum class Capacity : unsigned char {
    taken,
    queue_full,
    type_full,
    key_full,
    key_rate_used,
    rate_used,
    breaker_open
};
// Whether other jobs of the queue and type may have capacity nevertheless.
constexpr bool leaves_room_for_others(Capacity capacity)
{
    return capacity == Capacity::taken || capacity == Capacity::key_full ||
           capacity == Capacity::key_rate_used;
}

// Which rates admitted a job, and whether its breaker did and has not changed since.
struct Admission {
    bool by_queue = false;
    bool by_type = false;
    bool by_key = false;
    bool by_breaker = false;
    constexpr bool suffices(const StartRates &rates, std::uint64_t throttle_key) const
    {
        return (by_queue || !rates.queue.is_set()) && (by_type || !rates.type.is_set()) &&
               (by_key || !rates.key.is_set() || throttle_key == 0);
    }
};

// Capacity that erasing has freed for waiting jobs. The caller must notify them.
struct FreedCapacity {
    static constexpr std::size_t most_keys = 4;
    bool any;
    std::uint32_t
        key_count;  // throttle keys in it; more than most_keys: not all of them are listed
    std::array<LimiterName, most_keys> keys;
};

// The entries of a holder.
struct HolderList {
    std::int32_t first;
    std::int32_t last;
    std::int32_t count;
};

struct JobTableHead {
    std::int32_t free;
    std::int32_t used;
    std::uint64_t last_serial;  // used so far
    FreedCapacity freed;
};

class JobTable {
public:
    JobTable(JobTableHead *head, std::span<JobEntry> entries, std::span<std::int32_t> buckets,
             std::span<HolderList> holders, LimiterTable limiters, RateTable rates = {},
             BreakerTable breakers = {}, RateTable key_rates = {})
        : head_(head), entries_(entries), buckets_(buckets), holders_(holders), limiters_(limiters),
          rates_(rates), key_rates_(key_rates), breakers_(breakers)
    {
    }

    // `now`: of the clock of rates and breakers, as below.
    void clear(std::int64_t now = 0);

    // Enters a job that is not in flight yet. no_entry: the job is in flight already, or the table
    // is full.
    std::int32_t insert(const JobEntry &job);
    std::int32_t find(std::uint32_t database, std::int64_t job_id) const;
    // Also releases the job's weight.
    void erase(std::int32_t entry);
    // Gives the entry to another holder, as its latest; its weight stays counted.
    void hand_over(std::int32_t entry, std::int32_t holder);
    // The same, as the earliest.
    void hand_back(std::int32_t entry, std::int32_t holder);

    // Counts a job in flight in its limiters if all of them have capacity, and its rates and its
    // breaker admit it; a job that is counted already has it.
    Capacity take_capacity(std::int32_t entry, const Load &load, const WeightLimits &limits,
                           std::int64_t now = 0);
    // The job starts: its code runs next. Until then it counts in its rates as if it started now.
    // is_first_call: of its handler, in the process that calls it.
    void start(std::int32_t entry, std::int64_t now, bool is_first_call = false);
    // A started job is to start once more. Returns false, and changes nothing, if a rate does not
    // admit it now, or its breaker has changed.
    [[nodiscard]] bool admit_again(std::int32_t entry, std::int64_t now);
    // The job's attempt has ended, and counts for the breaker that admitted it. Returns whether
    // that has opened or closed.
    bool conclude(std::int32_t entry, bool has_failed, std::int64_t now);
    // What admitted the job; of weight 0 it needs no rate.
    Admission admission_of(std::int32_t entry) const;
    // Carries out what a user ordered.
    void order(std::int32_t breaker, const BreakerOrder &order, std::int64_t now);
    // Counts the job regardless of capacity. A job that is counted with another weight or key is
    // counted again with the new one.
    void weigh(std::int32_t entry, const Load &load);
    // Whether the job is counted with this weight and key.
    bool weighs(std::int32_t entry, const Load &load) const;
    // The throttle key that the job is counted with; 0: none.
    std::uint64_t key_of(std::int32_t entry) const;
    // Since the last call.
    FreedCapacity take_freed_capacity() { return std::exchange(head_->freed, FreedCapacity{}); }
    RateTable &rates() { return rates_; }
    const RateTable &rates() const { return rates_; }
    // Of throttle keys.
    RateTable &key_rates() { return key_rates_; }
    const RateTable &key_rates() const { return key_rates_; }
    BreakerTable &breakers() { return breakers_; }
    const BreakerTable &breakers() const { return breakers_; }
    LimiterTable &limiters() { return limiters_; }
    const LimiterTable &limiters() const { return limiters_; }

    // Erases the entries of a holder for which the predicate returns true. Returns how many.
    template <class Predicate>
    std::size_t erase_if(std::int32_t holder, const Predicate &is_unwanted)
    {
        std::size_t count = 0;
        for (std::int32_t entry = first_of(holder); entry != no_entry;) {
            const std::int32_t next = next_of(entry);
            if (is_unwanted(at(entry))) {
                erase(entry);
                ++count;
            }
            entry = next;
        }
        return count;
    }

    // The entries of a holder: first_of(), then next_of() until no_entry. The latest entry comes
    // first. Backwards: last_of(), then previous_of().
    std::int32_t first_of(std::int32_t holder) const
    {
        return holders_[static_cast<std::size_t>(holder)].first;
    }
    std::int32_t next_of(std::int32_t entry) const { return at(entry).next_of_holder; }
    std::int32_t last_of(std::int32_t holder) const
    {
        return holders_[static_cast<std::size_t>(holder)].last;
    }
    std::int32_t previous_of(std::int32_t entry) const { return at(entry).previous_of_holder; }

    // The number of entries of a holder.
    std::int32_t count_of(std::int32_t holder) const
    {
        return holders_[static_cast<std::size_t>(holder)].count;
    }

    std::span<HolderList> holders() const { return holders_; }

    // All entries, in no order; free ones have job id 0.
    std::span<const JobEntry> entries() const { return entries_; }

    JobEntry &operator[](std::int32_t entry) { return entries_[static_cast<std::size_t>(entry)]; }
    const JobEntry &at(std::int32_t entry) const
    {
        return entries_[static_cast<std::size_t>(entry)];
    }
    std::size_t size() const { return static_cast<std::size_t>(head_->used); }
    std::size_t capacity() const { return entries_.size(); }

private:
    std::int32_t &bucket_of(std::uint32_t database, std::int64_t job_id) const;
    void link_to_holder(std::int32_t entry, std::int32_t holder);
    void link_to_end(std::int32_t entry, std::int32_t holder);
    void unlink_from_holder(const JobEntry &job);
    void lift(JobEntry &job);
    using RateNumbers = std::array<std::int32_t, rates_per_job>;
    // Which rate of a job is that of its throttle key; the others are in the other table.
    static constexpr std::size_t of_key = 2;
    RateTable &rates_at(std::size_t place) { return place == of_key ? key_rates_ : rates_; }
    Capacity find_rates(const JobEntry &job, const Load &load, const StartRates &rates,
                        std::int64_t now, RateNumbers &found);
    bool find_breaker(const JobEntry &job, const Load &load, const StartBreaker &wanted,
                      std::int64_t now, std::int32_t &found);
    void give_back_rates(JobEntry &job);
    void leave_breaker(JobEntry &job);
    void note_capacity(const LimiterName &name);
    JobTableHead *head_;
    std::span<JobEntry> entries_;
    std::span<std::int32_t> buckets_;
    std::span<HolderList> holders_;
    LimiterTable limiters_;
    RateTable rates_;
    RateTable key_rates_;
    BreakerTable breakers_;
};

}  // namespace hipq::core
