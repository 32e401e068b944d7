// Makes jobs of rows of a user, as COPY and INSERT bring them, and writes them to the live leaf
// many at a time. The rules are those of the guard trigger.
#pragma once

#include <memory>

#include "catalog/cache.hpp"
#include "enqueue/enqueue.hpp"
#include "enqueue/new_rows.hpp"
#include "enqueue/remote_jobs.hpp"
#include "job/job_row.hpp"

namespace hipq::enqueue {

// The columns of a row that users may choose; the others become NULL. `map` is that of the table.
job::RowValues chosen_row(const job::ColumnMap &map, const Datum *values, const bool *nulls);

class JobWriter {
public:
    JobWriter(NewRows rows, int queue_id);

    // Takes a job, whose values must stay until write_pending(). Writes a job with a key at once,
    // and the pending ones before it, so that an error comes with its row.
    void write(job::RowValues job);
    // Writes a job immediately and returns its row. Not in a sharded instance.
    job::RowValues write_now(job::RowValues job);

    // Whether it is time for write_pending(). `memory` has the values of the pending jobs.
    bool is_full(MemoryContext memory) const;
    void write_pending();

    // Uses the present catalogue for the next rows. Must not be called while rows are pending, as
    // they point into the old catalogue.
    void look_at_catalogue();

    std::uint64_t count() const { return count_; }
    void close() { rows_.close(); }

private:
    void check(job::RowValues &job) const;
    void insert(job::RowValues &job);

    NewRows rows_;
    int queue_id_;
    KnownCatalogue catalogue_;
    const catalog::Queue *queue_ = nullptr;
    std::unique_ptr<RemoteJobs> remote_jobs_;  // null: not a sharded instance
    std::vector<job::RowValues> jobs_;
    std::uint64_t count_ = 0;
};

}  // namespace hipq::enqueue
