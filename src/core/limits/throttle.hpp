// Limits how much may run at once. Limiters add up the weights of running jobs for a queue, for a
// job type, and for a throttle key of a type.
//
// Weights and limits are counted in thousandths, so that sums are exact. The table is a hash table
// over memory that its user provides, so that it can live in shared memory: plain data, no
// pointers, no allocation, straight-line code. The caller does the locking.
#pragma once

#include "core/limits/breaker_table.hpp"
#include "core/limits/limiter_name.hpp"
#include "core/limits/node_shares.hpp"
#include "core/limits/rate_table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hipq::core {

// A limit below 1 means no limit. A job of weight 0 always has capacity. A job heavier than the
// limit runs when no other job with a weight runs.
constexpr bool has_capacity(Weight used, Weight weight, Weight limit)
{
    return limit < weight_unit || weight == 0 || used == 0 || used + weight <= limit;
}

// Hash of a name: FNV-1a, never 0.
constexpr std::uint64_t name_hash(std::string_view name)
{
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char each : name)
        hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3U;
    return std::max<std::uint64_t>(hash, 1);
}
// Hash of a throttle key; 0: no key.
constexpr std::uint64_t throttle_key_hash(std::string_view key)
{
    return key == "NONE" ? 0 : name_hash(key);
}

// The weight of a job, and the limits that apply to it. A limit below 1 (weight_unit) means none.
struct Load {
    Weight weight;
    std::uint64_t type;  // name_hash() of the job type
    std::uint64_t key;   // throttle_key_hash() of the throttle key
};
struct WeightLimits {
    Weight queue;
    Weight type;
    Weight key;              // for each key of the type
    bool is_shared = false;  // among several nodes: the shares of this node replace the limits
    StartRates rates{};
    StartBreaker breaker{};
    constexpr bool any() const
    {
        return std::max({queue, type, key}) >= weight_unit || rates.any() || breaker.any();
    }
};

struct Limiter {
    LimiterName name;
    Weight used;        // of the running jobs
    Weight waiting;     // of the lightest job that found no capacity; 0: no job waits
    Weight limit;       // under which that job found no capacity
    std::int32_t jobs;  // number of jobs counted; the limiter is removed with the last
    std::int32_t next;  // in its bucket, or in the list of free limiters
};

inline constexpr std::int32_t no_limiter = -1;

struct LimiterTableHead {
    std::int32_t free;
    std::int32_t used;
};

class LimiterTable {
public:
    LimiterTable(LimiterTableHead *head, std::span<Limiter> limiters,
                 std::span<std::int32_t> buckets, NodeShareTable shares = {})
        : head_(head), limiters_(limiters), buckets_(buckets), shares_(shares)
    {
    }

    void clear();

    std::int32_t find(const LimiterName &name) const;
    // Counts one more job. Returns no_limiter, and counts nothing, if the table is full.
    std::int32_t enter(const LimiterName &name, Weight weight);
    // Removes a job. Returns whether a waiting job has capacity now; the table then forgets that it
    // waits, and the caller must notify it.
    bool leave(std::int32_t limiter, Weight weight);

    // Returns whether a job of that weight has capacity under a limit. If not, the table records
    // that it waits. If the table has a share of this node for the limit, the share decides, even
    // if the caller does not know about it and passes is_shared = false.
    bool admits(const LimiterName &name, Weight weight, Weight limit, bool is_shared = false);
    // The weight of the running jobs.
    Weight used_by(const LimiterName &name) const;
    // Returns whether a job that waits for a share has capacity now; the table then forgets that it
    // waits, and the caller must notify it.
    bool let_in(NodeShare &share) const;
    NodeShareTable &shares() { return shares_; }
    const NodeShareTable &shares() const { return shares_; }
    // Returns whether a job waits there.
    bool is_awaited(const LimiterName &name) const;
    // Forgets all waiting jobs of a database: a job that still waits is recorded again at its next
    // attempt. Returns whether any job waited.
    bool forget_waiting(std::uint32_t database);

    const Limiter &operator[](std::int32_t limiter) const
    {
        return limiters_[static_cast<std::size_t>(limiter)];
    }
    std::span<const Limiter> all() const
    {
        return limiters_;
    }  // limiters that count no job are free
    std::size_t size() const { return static_cast<std::size_t>(head_->used); }
    std::size_t capacity() const { return limiters_.size(); }

private:
    std::int32_t &bucket_of(const LimiterName &name) const;
    Limiter &at(std::int32_t limiter) const { return limiters_[static_cast<std::size_t>(limiter)]; }
    std::int32_t make(const LimiterName &name);
    void erase(std::int32_t limiter);
    LimiterTableHead *head_;
    std::span<Limiter> limiters_;
    std::span<std::int32_t> buckets_;
    NodeShareTable shares_;
};

// The limiters of a job: of its queue, its type and its key.
inline constexpr std::size_t limiters_per_job = 3;

}  // namespace hipq::core
