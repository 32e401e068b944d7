// How much may run at once: limiters that add up the weights of running jobs, for a queue, a job
// type of it, and a throttle key of that.
//
// Weights and limits are counted in thousandths, so that sums are exact. A hash table over memory
// that its user provides, so that it can live in shared memory: plain data, no pointers, no
// allocation; operations are straight-line code. The caller sees to locking.
#pragma once

#include "core/limits/limiter_name.hpp"
#include "core/limits/node_shares.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hipq::core {

// A limit below 1 is none. A job that weighs nothing always has capacity; one that weighs more than
// the limit runs when nothing that weighs anything runs.
constexpr bool has_capacity(Weight used, Weight weight, Weight limit)
{
    return limit < weight_unit || weight == 0 || used == 0 || used + weight <= limit;
}

// Stands for a name: FNV-1a, never 0.
constexpr std::uint64_t name_hash(std::string_view name)
{
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char each : name)
        hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3U;
    return std::max<std::uint64_t>(hash, 1);
}
// Of a throttle key; 0: there is none.
constexpr std::uint64_t throttle_key_hash(std::string_view key)
{
    return key == "NONE" ? 0 : name_hash(key);
}

// What a job weighs, and the limits it has to keep. Below 1 (weight_unit): none.
struct Load {
    Weight weight;
    std::uint64_t type;  // name_hash() of the job type
    std::uint64_t key;   // throttle_key_hash() of the throttle key
};
struct WeightLimits {
    Weight queue;
    Weight type;
    Weight key;              // for each key of the type
    bool is_shared = false;  // by several nodes: this one's shares stand for them
    constexpr bool any() const { return std::max({queue, type, key}) >= weight_unit; }
};

struct Limiter {
    LimiterName name;
    Weight used;        // by those that run
    Weight waiting;     // of the lightest that found no capacity; 0: nobody waits
    Weight limit;       // that stood against it
    std::int32_t jobs;  // that are counted; the limiter goes with the last
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

    // Makes everything empty.
    void clear();

    std::int32_t find(const LimiterName &name) const;
    // Counts one more job. no_limiter: there is no place for another limiter, and nothing is
    // counted.
    std::int32_t enter(const LimiterName &name, Weight weight);
    // The job is gone. Returns whether somebody who waits has capacity now; he is forgotten then,
    // and has to be told.
    bool leave(std::int32_t limiter, Weight weight);

    // Whether a job of that weight has capacity under a limit. If not, it waits from now on. Where
    // this node has a share of the limit, that decides, whatever the asker knows of it.
    bool admits(const LimiterName &name, Weight weight, Weight limit, bool is_shared = false);
    // What runs.
    Weight used_by(const LimiterName &name) const;
    // Whether somebody who waits for a share has capacity now; he is forgotten then, and has to be
    // told.
    bool let_in(NodeShare &share) const;
    NodeShareTable &shares() { return shares_; }
    const NodeShareTable &shares() const { return shares_; }
    // Whether somebody waits there.
    bool is_awaited(const LimiterName &name) const;
    // Nobody waits any more in a database, as far as is known here: whoever does says so again.
    // Returns whether anybody did.
    bool forget_waiting(std::uint32_t database);

    const Limiter &operator[](std::int32_t limiter) const
    {
        return limiters_[static_cast<std::size_t>(limiter)];
    }
    std::span<const Limiter> all() const { return limiters_; }  // those that count no job are free
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

// The limiters of a job: of its queue, its type, its key.
inline constexpr std::size_t limiters_per_job = 3;

}  // namespace hipq::core
