// The average run time of each job type: a small hash table over memory that its user provides,
// which evicts entries instead of filling up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace hipq::core {

struct RunTime {
    std::uint64_t key;  // 0: free
    std::int64_t average;
    std::uint32_t owner;
};

class RunTimes {
public:
    // If there are more types than places, they evict each other, preferably within one owner.
    explicit RunTimes(std::span<RunTime> places) : places_(places) {}

    // Returns the average in microseconds; nothing for a key that is unknown or was evicted. A key
    // is never 0. Other processes may count runs meanwhile.
    std::optional<std::int64_t> find(std::uint64_t key) const;

    // Counts one more run of a known key. Returns false if the key is unknown. Other processes may
    // do the same: of two simultaneous runs one may be lost, which is harmless.
    bool update(std::uint64_t key, std::int64_t microseconds);

    // Counts one more run. Returns whether another key was evicted. The caller must ensure that no
    // other process enters a key meanwhile.
    bool note(std::uint64_t key, std::int64_t microseconds, std::uint32_t owner = 0);

private:
    RunTime *find_place(std::uint64_t key) const;
    RunTime &place(std::uint64_t key, std::size_t step) const
    {
        return places_[(key + step) % places_.size()];
    }
    std::span<RunTime> places_;
};

}  // namespace hipq::core
