// Which jobs handlers of dead letters have made: rows of hipq.made_by_handler. No handler is called
// when one of them fails, so that handlers cannot keep each other going for ever.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::job {

// While it lives, all jobs that this process enqueues are noted, in whatever way that happens. One
// at a time.
class MadeJobs {
public:
    MadeJobs();
    ~MadeJobs();
    MadeJobs(const MadeJobs &) = delete;
    MadeJobs &operator=(const MadeJobs &) = delete;

    // Writes them down, in the transaction that has made them.
    void write() const;

private:
    friend void note_made_job(std::int64_t id, int queue_id);
    friend void move_made_jobs(const std::vector<std::int64_t> &ids, const catalog::Queue &from,
                               const catalog::Queue &to);
    std::vector<std::int64_t> ids_;
    std::vector<std::int64_t> queues_;
};

// Whether one lives: a handler of dead letters runs in this process.
bool is_handling_letter() noexcept;

// A job is about to be made: it has its id.
void note_made_job(std::int64_t id, int queue_id);

// Notes that jobs are another queue's now.
void move_made_jobs(const std::vector<std::int64_t> &ids, const catalog::Queue &from,
                    const catalog::Queue &to);

// The queues that have some. Needs a transaction.
std::vector<int> queues_with_made_jobs();

// Forgets those of a queue that have finished. Needs a transaction.
void prune_made_jobs(const catalog::Queue &queue);

}  // namespace hipq::job
