// The jobs that somebody has in hand: a hash table over memory that its user provides, so that it can live in shared memory.
//
// Plain data, no pointers, no allocation; operations are straight-line code. At most one entry per job. Each entry belongs to a
// holder (an executor's slot), whose entries are linked. The caller sees to locking.
#pragma once

#include "core/lane.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace hipq::core {

inline constexpr std::int32_t no_entry = -1;

// A job is reserved so that nobody else takes it, chosen to be next, and then running: its claim is about to be, or is, durable.
enum class JobPhase : unsigned char { reserved, chosen, running };

struct JobEntry {
    std::int64_t job_id;
    std::uint32_t database;
    std::int32_t queue_id;
    std::int32_t attempt;  // the one that runs, or will
    std::int32_t holder;
    std::int32_t next;  // in its bucket, or in the list of free entries
    std::int32_t next_of_holder;
    std::int32_t previous_of_holder;
    LaneRef lane;  // where it stood, and at which time: for its return
    std::int64_t due;
    JobPhase phase;
    bool is_closed;  // its code has ended, and what follows from that cannot be stopped any more
};

struct JobTableHead {
    std::int32_t free;
    std::int32_t used;
};

class JobTable {
public:
    JobTable(JobTableHead *head, std::span<JobEntry> entries, std::span<std::int32_t> buckets, std::span<std::int32_t> holders)
        : head_(head), entries_(entries), buckets_(buckets), holders_(holders)
    {
    }

    // Makes everything empty.
    void clear();

    // Enters a job that is not in hand yet. no_entry: somebody has it, or the table is full.
    std::int32_t insert(const JobEntry &job);
    std::int32_t find(std::uint32_t database, std::int64_t job_id) const;
    void erase(std::int32_t entry);

    // Erases the entries of a holder that the predicate wants gone. Returns how many.
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

    // The entries of a holder: first, then next, until no_entry; the one entered last comes first.
    std::int32_t first_of(std::int32_t holder) const { return holders_[static_cast<std::size_t>(holder)]; }
    std::int32_t next_of(std::int32_t entry) const { return at(entry).next_of_holder; }

    JobEntry &operator[](std::int32_t entry) { return entries_[static_cast<std::size_t>(entry)]; }
    const JobEntry &at(std::int32_t entry) const { return entries_[static_cast<std::size_t>(entry)]; }
    std::size_t size() const { return static_cast<std::size_t>(head_->used); }
    std::size_t capacity() const { return entries_.size(); }

private:
    std::int32_t &bucket_of(std::uint32_t database, std::int64_t job_id) const;
    JobTableHead *head_;
    std::span<JobEntry> entries_;
    std::span<std::int32_t> buckets_;
    std::span<std::int32_t> holders_;
};

}  // namespace hipq::core
