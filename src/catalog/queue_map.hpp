// The queues of a catalogue, ordered by number. The catalogues before and after a change share the
// queues that have not changed.
#pragma once

#include <map>
#include <memory>

namespace hipq::catalog {

struct Queue;

class QueueMap {
public:
    // A number and its queue, named like the members of a std::map entry.
    struct Entry {
        int first;
        const Queue &second;
    };

    class Iterator {
    public:
        using Base = std::map<int, std::shared_ptr<const Queue>>::const_iterator;
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
        Entry operator*() const { return {base_->first, *base_->second}; }
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

    Iterator begin() const { return Iterator(queues_.begin()); }
    Iterator end() const { return Iterator(queues_.end()); }
    Iterator find(int id) const { return Iterator(queues_.find(id)); }
    Iterator lower_bound(int id) const { return Iterator(queues_.lower_bound(id)); }
    Iterator upper_bound(int id) const { return Iterator(queues_.upper_bound(id)); }
    bool contains(int id) const { return queues_.contains(id); }
    bool empty() const { return queues_.empty(); }
    std::size_t size() const { return queues_.size(); }

    void set(int id, std::shared_ptr<const Queue> queue)
    {
        queues_.insert_or_assign(id, std::move(queue));
    }
    void erase(int id) { queues_.erase(id); }

private:
    std::map<int, std::shared_ptr<const Queue>> queues_{};
};

}  // namespace hipq::catalog
