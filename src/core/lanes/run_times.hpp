// How long jobs of each type run, over memory that its user provides: a small table by hash that
// forgets rather than fills up.
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
    // As many places as there are; more types than that push each other out, rather those of one
    // owner.
    explicit RunTimes(std::span<RunTime> places) : places_(places) {}

    // Microseconds on average; nothing for a key that is not known (any more). A key is never 0.
    // Others may be counting runs meanwhile.
    std::optional<std::int64_t> find(std::uint64_t key) const;

    // Counts one more run of a key that is known. False: it is not. Others may be doing the same:
    // of two runs at the very same time one may be lost, which is harmless.
    bool update(std::uint64_t key, std::int64_t microseconds);

    // Counts one more run. Returns whether another key had to go. The caller sees to it that nobody
    // else enters a key at that time.
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
