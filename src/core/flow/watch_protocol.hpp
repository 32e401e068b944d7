// Watched jobs: jobs whose end other jobs wait for. A filter tells a process that ends a job
// whether it may be watched, and a list takes the ends of watched jobs to the scheduler.
//
// The protocol, which test/unit/flow/watched_jobs_test.cpp checks in all orders:
//
// - A transaction that makes a job wait adds the job before it to the filter at once. After its
//   commit it counts the new wait, and then reports the job before as if it had ended. If the
//   transaction made that job, too, it need not report it.
// - A transaction that ends a job looks into the filter after its commit, and reports the end of a
//   watched job. It need not do so if it has itself released all jobs after this one, and no new
//   wait was counted between its look for these jobs and its commit. The same holds for a job after
//   it that goes on waiting, if all jobs before that one are watched, and not all of the unfinished
//   ones have ended in between: an end counts one look at the later job after its commit, and the
//   scheduler as many as there may be jobs before, before it reads. So of ends at the same time,
//   the one that counts last is reported.
// - A scheduler takes the reports, and then reads the tables by a new snapshot. If a job goes on
//   waiting, it adds the job before it to the filter, and then reads again. It need not do so if
//   that job was reported, or if it has added it before it read. A bit that it finds set proves
//   nothing: it may have been set since it read, for another job.
//
// So one of the two sees the other: the end, which looks after its commit, or the scheduler, which
// reads after the wait was added.
//
// Bits are never removed one by one. When the filter gets full, begin_again() empties it, and then
// has the schedulers look at all waits, which adds the jobs again. A transaction that has added
// jobs to the filter before, and commits afterwards, reports that all waits must be looked at.
//
// Plain data that starts as zeros, so that it can live in shared memory.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace hipq::core {

// A set of jobs, of all databases, that may contain some more. Lock-free; cannot fail.
template <std::size_t bit_count>
class WatchedJobs {
    static_assert((bit_count & (bit_count - 1)) == 0 && bit_count >= 64);

public:
    void add(std::uint32_t database, std::int64_t job_id) noexcept
    {
        const std::size_t bit = place(database, job_id);
        const std::uint64_t mask = std::uint64_t{1} << (bit % 64);
        std::atomic<std::uint64_t> &word = words_[bit / 64];
        if ((word.load() & mask) != 0)
            return;
        ++count_;  // before the bit, so that the filter never seems to be empty while it has one
        if ((word.fetch_or(mask) & mask) != 0)
            --count_;
    }

    // Makes the caller's commit visible before the filter is read.
    bool may_have(std::uint32_t database, std::int64_t job_id) const noexcept
    {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        const std::size_t bit = place(database, job_id);
        return (words_[bit / 64].load() >> (bit % 64) & 1) != 0;
    }

    bool is_empty() const noexcept
    {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        return count_.load() == 0;
    }

    // From here on, of 100 jobs that are not watched more than 25 seem to be.
    bool is_crowded() const noexcept { return count_.load() > bit_count / 4; }

    // How often the filter was emptied. `tell_schedulers` has the schedulers look at all waits. It
    // comes last: a job that is added before its bit is removed is then added again. A transaction
    // that reads the number before it adds a job, and finds the same number after its commit, has
    // added it after that removal, or has committed before the schedulers look.
    std::uint32_t generation() const noexcept { return generation_.load(); }
    template <class TellSchedulers>
    void begin_again(const TellSchedulers &tell_schedulers) noexcept
    {
        for (std::atomic<std::uint64_t> &word : words_)
            count_ -= static_cast<std::uint32_t>(std::popcount(word.exchange(0)));
        ++generation_;
        tell_schedulers();
    }

    // How many new waits were counted, which a transaction does after its commit, before it reports
    // them.
    std::uint32_t new_waits() const noexcept { return new_waits_.load(); }
    void count_new_wait() noexcept { ++new_waits_; }

    // How often processes have looked at a held job, or at another one with the same number.
    std::uint32_t looks(std::uint32_t database, std::int64_t job_id) const noexcept
    {
        return looks_[place(database, job_id) % looks_.size()].load();
    }
    // Returns the number before. Makes the caller's commit visible before it counts.
    std::uint32_t count_looks(std::uint32_t database, std::int64_t job_id,
                              std::uint32_t count) noexcept
    {
        return looks_[place(database, job_id) % looks_.size()].fetch_add(count);
    }

private:
    // Multiples of the golden ratio spread ids that follow each other evenly. Ids begin with 1 in
    // each database, so each database has a distance of its own.
    static std::size_t place(std::uint32_t database, std::int64_t job_id) noexcept
    {
        const std::uint64_t spread = static_cast<std::uint64_t>(job_id) * 0x9E37'79B9'7F4A'7C15ULL;
        const std::uint64_t distance = database * 0xD6E8'FEB8'6659'FD93ULL;
        return static_cast<std::size_t>((spread >> 20) + (distance >> 20)) % bit_count;
    }

    std::atomic<std::uint32_t> generation_;
    std::atomic<std::uint32_t> new_waits_;
    std::atomic<std::uint32_t> count_;  // of bits that are set, or about to be
    std::array<std::atomic<std::uint64_t>, bit_count / 64> words_;
    std::array<std::atomic<std::uint32_t>, 4'096> looks_;
};

// The ends of watched jobs that no scheduler has taken yet. The caller holds a lock.
template <std::size_t size>
class ReportedEnds {
public:
    // False: there is no room, so that the scheduler must look at all waits.
    bool add(std::uint32_t database, std::int64_t job_id) noexcept
    {
        if (count_ == size)
            return false;
        ends_[count_++] = {database, job_id};
        return true;
    }

    // Removes the ends of a database, and passes each job to `taken`.
    template <class Taken>
    void take(std::uint32_t database, const Taken &taken) noexcept
    {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < count_; ++i)
            if (ends_[i].database == database)
                taken(ends_[i].job_id);
            else
                ends_[kept++] = ends_[i];
        count_ = kept;
    }

private:
    struct End {
        std::uint32_t database;
        std::int64_t job_id;
    };
    std::size_t count_;
    std::array<End, size> ends_;
};

}  // namespace hipq::core
