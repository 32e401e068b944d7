// What a process has taken out of their lane and not claimed yet, and what it could not take.
#pragma once

#include "catalog/catalog.hpp"
#include "shared/lanes/in_flight.hpp"

namespace hipq::claim {

// Jobs of one queue and type, in order, reserved for this process until somebody takes them back.
struct Prefetched {
    int queue_id = 0;
    std::string job_type;
    std::size_t batch_size = 1;  // most jobs in one call
    std::vector<lanes::WaitingJob> jobs;
    std::size_t next = 0;
    pg::Time closes = pg::infinity;  // from then on some of them may be outside their time windows
    std::vector<std::string> paused_keys{};  // throttle keys that were passed over
    std::optional<std::int64_t> run_time{};  // us; of a job, as far as it is known
    bool is_paused =
        false;  // what may be started has changed since: all of it belongs back into its lane

    bool is_empty() const { return next >= jobs.size(); }
    // How long it will take, in microseconds.
    std::int64_t work() const
    {
        return run_time.has_value() ? *run_time * static_cast<std::int64_t>(jobs.size())
                                    : core::prefetched_work;
    }
};

// An empty batch of a type, to be filled by take_jobs().
Prefetched batch_of(const catalog::Queue &queue, const catalog::JobType &type,
                    std::size_t batch_size);

// Rows that somebody else holds, as a session does with SELECT FOR UPDATE: tried again after a
// while that doubles, and passed over meanwhile.
class HeldRows {
public:
    bool is_held(std::int64_t job_id, pg::Time now) const;
    pg::Time until(std::int64_t job_id) const;
    std::size_t size() const { return rows_.size(); }
    // Returns when it is to be tried again.
    pg::Time note(std::int64_t job_id, pg::Time now);
    void forget(std::int64_t job_id) { rows_.erase(job_id); }
    // When the next of them is to be tried; infinity without any. Forgets those that nobody has
    // asked for in a minute.
    pg::Time next_try(pg::Time now);

private:
    struct Held {
        pg::Time not_before;
        std::int64_t delay;
    };
    std::map<std::int64_t, Held> rows_;
};

// Who takes jobs out of their lane: an executor, or a scheduler for external workers.
struct Claimer {
    Prefetched prefetched{};
    HeldRows held{};
    pg::Time next_due = pg::infinity;  // what the last look found beside what it took is due then
};

}  // namespace hipq::claim
