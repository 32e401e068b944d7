// When each of many things is due next: one time for each, with the earliest ready at hand.
//
// The size is the number of things that have a due time; a thing without one takes no space.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace hipq::core {

inline constexpr std::int64_t never_due = std::numeric_limits<std::int64_t>::max();

template <class Key>
class DueHeap {
public:
    // Sets the due time (microseconds) and replaces any earlier one; never_due: it is not due at
    // all.
    void set(const Key &key, std::int64_t due)
    {
        forget(key);
        if (due == never_due)
            return;
        times_.emplace(key, due);
        order_.emplace(due, key);
    }

    // Sets the due time unless an earlier one is set.
    void bring_forward(const Key &key, std::int64_t due) { set(key, std::min(due, due_of(key))); }

    void forget(const Key &key)
    {
        const auto known = times_.find(key);
        if (known == times_.end())
            return;
        order_.erase({known->second, key});
        times_.erase(known);
    }

    std::int64_t due_of(const Key &key) const
    {
        const auto known = times_.find(key);
        return known == times_.end() ? never_due : known->second;
    }

    // The earliest due time; never_due: there is none.
    std::int64_t next_due() const { return order_.empty() ? never_due : order_.begin()->first; }

    // Removes and returns the things that are due, the longest overdue first, at most `most`.
    std::vector<Key> take_due(std::int64_t now, std::size_t most)
    {
        std::vector<Key> due;
        while (due.size() < most && next_due() <= now) {
            due.push_back(order_.begin()->second);
            forget(due.back());
        }
        return due;
    }

    std::size_t size() const { return times_.size(); }

private:
    std::map<Key, std::int64_t> times_;
    std::set<std::pair<std::int64_t, Key>> order_;
};

}  // namespace hipq::core
