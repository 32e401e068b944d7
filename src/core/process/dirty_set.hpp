// The queues that changed since their scheduler last looked: a lock-free set of bounded size for
// all databases of a server.
//
// A process that changes something adds the queue afterwards; a scheduler takes the queues before
// it looks. If the set is full, all entries are dropped at once and every database is told to look
// at all its queues. So a reason to look is never lost, only less exact.
//
// Plain data that starts as zeros, so that it can live in shared memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hipq::core {

// The queues that a scheduler takes for its database.
struct DirtyQueues {
    bool is_all = false;        // it must look at all queues
    std::vector<int> queues{};  // ids; some may occur twice
};

template <std::size_t size>
class DirtySet {
public:
    // Cannot fail; does not allocate. Queue 0 stands for all queues of the database. `database`
    // must not be 0.
    void add(std::uint32_t database, int queue_id) noexcept
    {
        // Makes the caller's change visible to a scheduler that takes an entry that was already
        // there.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        const Entry entry = entry_for(database, queue_id);
        for (std::size_t step = 0; step < reach; ++step)
            if (put(entries_[(hash(entry) + step) % size], entry))
                return;
        forget_all();
    }

    // Takes the queues of a database out of the set. `seen` is the value that the scheduler's last
    // call stored; a new scheduler passes 0 and looks at all queues.
    DirtyQueues take(std::uint32_t database, std::uint64_t &seen)
    {
        DirtyQueues dirty;
        for (std::atomic<Entry> &place : entries_)
            if (database_of(place.load(std::memory_order_relaxed)) == database)
                add_to(dirty, place.exchange(0), database);
        // Read the counters after the entries. forget_all() raises both counters before it drops
        // entries, and lowers forgetting_ only when it is done.
        const std::uint64_t overflows = overflows_.load();
        const bool is_being_forgotten = forgetting_.load() > 0;
        dirty.is_all = dirty.is_all || is_being_forgotten || seen != overflows + 1;
        seen = is_being_forgotten ? 0 : overflows + 1;
        return dirty;
    }

    // Removes the entries of a database that was dropped.
    void forget(std::uint32_t database) noexcept
    {
        for (std::atomic<Entry> &place : entries_)
            if (Entry entry = place.load(); database_of(entry) == database)
                place.compare_exchange_strong(entry, 0);
    }

private:
    using Entry = std::uint64_t;  // 0: free
    static_assert(std::atomic<Entry>::is_always_lock_free);
    static constexpr std::size_t reach = size < 32 ? size : 32;

    static constexpr Entry entry_for(std::uint32_t database, int queue_id)
    {
        return (Entry{database} << 32) | static_cast<std::uint32_t>(queue_id);
    }
    static constexpr std::uint32_t database_of(Entry entry)
    {
        return static_cast<std::uint32_t>(entry >> 32);
    }
    static constexpr std::size_t hash(Entry entry)
    {
        return static_cast<std::size_t>((entry * 0x9E37'79B9'7F4A'7C15ULL) >> 32);
    }

    // Returns whether the entry is in this place now. An earlier place may have become free since
    // the entry was stored, so the set may hold an entry twice.
    static bool put(std::atomic<Entry> &place, Entry entry) noexcept
    {
        Entry found = place.load();
        return found == entry ||
               (found == 0 && (place.compare_exchange_strong(found, entry) || found == entry));
    }

    // Between the load and the exchange, an entry of another database may have taken the place.
    void add_to(DirtyQueues &dirty, Entry entry, std::uint32_t database)
    {
        if (entry == 0)
            return;
        const auto queue_id = static_cast<int>(static_cast<std::uint32_t>(entry));
        if (database_of(entry) != database)
            add(database_of(entry), queue_id);
        else if (queue_id == 0)
            dirty.is_all = true;
        else
            dirty.queues.push_back(queue_id);
    }

    void forget_all() noexcept
    {
        ++forgetting_;
        ++overflows_;
        for (std::atomic<Entry> &place : entries_)
            place.store(0);
        --forgetting_;
    }

    std::atomic<std::uint32_t> forgetting_;  // number of processes in forget_all()
    std::atomic<std::uint64_t> overflows_;
    std::array<std::atomic<Entry>, size> entries_;
};

}  // namespace hipq::core
