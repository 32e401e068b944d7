// The queues of a catalogue, ordered by number. The catalogues before and after a change share the
// queues that have not changed.
//
// A process that uses few of many queues reads each when it first looks it up, and all when it goes
// through them. Both need what reading a queue's job types needs (cache.hpp).
#pragma once

#include "catalog/changes.hpp"

#include <map>
#include <memory>

namespace hipq::catalog {

struct Queue;

// A queue, and the changes of it that this process had received before it read.
struct KnownQueue {
    std::shared_ptr<const Queue> queue;
    QueueVersion version{};
    std::uint64_t instance_version = 0;
};

class QueueMap {
public:
    using Known = std::map<int, KnownQueue>;

    // A number and its queue, named like the members of a std::map entry.
    struct Entry {
        int first;
        const Queue &second;
    };

    class Iterator {
    public:
        using Base = Known::const_iterator;
        using iterator_category = std::input_iterator_tag;
        using value_type = Entry;
        using difference_type = std::ptrdiff_t;
        using reference = Entry;
        struct Pointer {
            Entry entry;
            const Entry *operator->() const { return &entry; }
        };
        using pointer = Pointer;

        Iterator() = default;
        explicit Iterator(Base base) : base_(base) {}
        Entry operator*() const { return {base_->first, *base_->second.queue}; }
        Pointer operator->() const { return {**this}; }
        Iterator &operator++()
        {
            ++base_;
            return *this;
        }
        Iterator operator++(int) { return Iterator(base_++); }
        bool operator==(const Iterator &) const = default;

    private:
        Base base_{};
    };

    Iterator begin() const { return Iterator(all().begin()); }
    Iterator end() const { return Iterator(known_.end()); }
    Iterator find(int id) const { return Iterator(met(id)); }
    Iterator lower_bound(int id) const { return Iterator(all().lower_bound(id)); }
    Iterator upper_bound(int id) const { return Iterator(all().upper_bound(id)); }
    bool contains(int id) const { return met(id) != known_.end(); }
    bool empty() const { return all().empty(); }
    std::size_t size() const { return all().size(); }

    // The queues that have been read.
    const Known &known() const { return known_; }
    bool is_whole() const { return is_whole_; }
    void read_as_met() { is_whole_ = false; }

    void set(int id, KnownQueue queue) { known_.insert_or_assign(id, std::move(queue)); }
    void erase(int id) { known_.erase(id); }

private:
    const Known &all() const;
    Known::const_iterator met(int id) const;

    mutable Known known_{};
    mutable bool is_whole_ = true;
};

}  // namespace hipq::catalog
