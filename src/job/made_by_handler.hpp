// The jobs that handlers of dead letters have made: rows of hipq.made_by_handler. No handler is
// called when one of them fails, so that handlers cannot trigger each other forever.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::job {

// While an object of this class exists, all jobs that this process enqueues in any way are noted.
// Only one may exist at a time.
class MadeJobs {
public:
    MadeJobs();
    ~MadeJobs();
    MadeJobs(const MadeJobs &) = delete;
    MadeJobs &operator=(const MadeJobs &) = delete;

    // Writes them to the table, in the transaction that has made them.
    void write() const;

private:
    friend void note_made_job(std::int64_t id, int queue_id);
    friend void move_made_jobs(const std::vector<std::int64_t> &ids, const catalog::Queue &from,
                               const catalog::Queue &to);
    std::vector<std::int64_t> ids_;
    std::vector<std::int64_t> queues_;
};

// Whether such an object exists: a handler of dead letters runs in this process.
bool is_handling_letter() noexcept;

// Notes a job that is about to be made; it has its id already.
void note_made_job(std::int64_t id, int queue_id);

// Notes that jobs have been moved to another queue.
void move_made_jobs(const std::vector<std::int64_t> &ids, const catalog::Queue &from,
                    const catalog::Queue &to);

// The queues that have such jobs. Needs a transaction.
std::vector<int> queues_with_made_jobs();

// Deletes the rows of a queue's jobs that have finished. Needs a transaction.
void prune_made_jobs(const catalog::Queue &queue);

}  // namespace hipq::job
