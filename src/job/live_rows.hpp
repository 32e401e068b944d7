// Accesses the live leaf of a queue row by row without SQL: the work of a statement without
// planning and checking each time.
#pragma once

#include "catalog/cache.hpp"
#include "core/job/row_guard.hpp"
#include "job/claimed_job.hpp"

namespace hipq::job {

// Needs a transaction. close() closes what it has opened, or the abort does. Until then its
// snapshot, taken when it was opened, is the active one.
class LiveRows {
public:
    // Nothing: the table does not exist or, for writing, is not as hipq creates it
    // (plain_table.hpp); the caller must use SQL. Locking takes no stronger lock than SELECT FOR
    // UPDATE would, so a handler that runs under a row lock does not block CREATE INDEX.
    static std::optional<LiveRows> open_to_lock(const catalog::Queue &queue);
    static std::optional<LiveRows> open_to_write(const catalog::Queue &queue);

    // Locks the row of a due job until the transaction ends. The result looks as if the claim had
    // been recorded. Nothing: the job is not due, does not wait any more, or is locked by another
    // process.
    std::optional<ClaimedJob> lock_due(const DueJob &waiting, pg::Time now);
    // Locks the row of an attempt that a worker has, or that was left running, until the
    // transaction ends. Nothing: it does not run any more, is another attempt, belongs to an
    // executor, or is locked by another process.
    std::optional<ClaimedJob> lock_external(const DueJob &job, std::int64_t attempt);
    // The same, and deletes the row instead: finish_succeeded() writes the rest.
    std::optional<ClaimedJob> remove_external(const DueJob &job, std::int64_t attempt);
    // The present row of a job, in the current memory context; null: there is none.
    RowValues *find(const DueJob &job);
    // The job of the row that was found last, with these values, which the job keeps.
    ClaimedJob job_of(const RowValues &values) const;
    // Sets columns of the row that was found last, and returns its new place. Nothing: another
    // process has changed it since, or has it locked.
    std::optional<ItemPointerData> change(const RowValues &values,
                                          std::span<const core::Column> columns);
    // Deletes the row of a claimed job. False: it does not belong to this attempt.
    bool remove(const ClaimedJob &job);
    // Waits until the transactions that hold the row of a job have ended. While an executor has the
    // job prefetched, waits for a moment only, because the executor will report what it does with
    // the job. Deadlocks are detected.
    void wait_for_holder(std::int64_t id);
    // Whether there is a row with that id now.
    bool is_there(std::int64_t id);

    Oid leaf() const;
    void close();

private:
    struct Table;
    enum class Purpose : unsigned char { lock, write };
    static Table *open(const catalog::Queue &queue, Purpose purpose);
    explicit LiveRows(Table *table) : table_(table) {}
    Table *table_;  // in the memory context that was current at open()
};

}  // namespace hipq::job
