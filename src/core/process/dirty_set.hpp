// The queues to which something has happened since their scheduler looked: a set of bounded size
// for all databases of a server, without a lock.
//
// Whoever changes something adds the queue afterwards; whoever looks takes the queues first. When
// there is no room for one more, everything is forgotten at once and all databases are told to look
// at all their queues: so a reason to look is never lost, it only becomes less exact.
//
// Plain data that begins as zeros, so that it can live in shared memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hipq::core {

// What a scheduler takes for its database.
struct DirtyQueues {
    bool is_all = false;        // it has to look at all of them
    std::vector<int> queues{};  // by number; some may be named twice
};

template <std::size_t size>
class DirtySet {
public:
    // Cannot fail; does not allocate. Queue 0 stands for all queues of the database. The database
    // is not 0.
    void add(std::uint32_t database, int queue_id) noexcept
    {
        // What has happened is to be seen by whoever takes an entry that was there already.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        const Entry entry = entry_for(database, queue_id);
        for (std::size_t step = 0; step < reach; ++step)
            if (put(entries_[(hash(entry) + step) % size], entry))
                return;
        forget_all();
    }

    // Takes the queues of a database out of it. `seen` is what the last call of that scheduler left
    // there; a new scheduler has 0 and looks at all.
    DirtyQueues take(std::uint32_t database, std::uint64_t &seen)
    {
        DirtyQueues dirty;
        for (std::atomic<Entry> &place : entries_)
            if (database_of(place.load(std::memory_order_relaxed)) == database)
                add_to(dirty, place.exchange(0), database);
        // After the entries: whoever forgets some says so before and is heard until he is through.
        const std::uint64_t overflows = overflows_.load();
        const bool is_being_forgotten = forgetting_.load() > 0;
        dirty.is_all = dirty.is_all || is_being_forgotten || seen != overflows + 1;
        seen = is_being_forgotten ? 0 : overflows + 1;
        return dirty;
    }

    // Of a database that is gone.
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

    // Whether it is there now. Entries before it may have been taken since it was put there, so
    // that it may be there twice.
    static bool put(std::atomic<Entry> &place, Entry entry) noexcept
    {
        Entry found = place.load();
        return found == entry ||
               (found == 0 && (place.compare_exchange_strong(found, entry) || found == entry));
    }

    // Another database's entry may have come between the look and the exchange.
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

    std::atomic<std::uint32_t> forgetting_;  // processes that are just doing so
    std::atomic<std::uint64_t> overflows_;
    std::array<std::atomic<Entry>, size> entries_;
};

}  // namespace hipq::core
