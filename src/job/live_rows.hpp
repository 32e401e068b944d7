// The live leaf of a queue, row by row and without SQL: what a statement would do, without planning
// and checking each time.
#pragma once

#include "core/job/row_guard.hpp"
#include "job/claimed_job.hpp"

namespace hipq::job {

// Needs a transaction. What it opens is closed by close(), or by the abort. In between its
// snapshot, of what was committed when it was opened, is the active one.
class LiveRows {
public:
    // Nothing: the table is gone or, to be written, not as hipq makes it (plain_table.hpp), and SQL
    // has to do. A handler that runs under a row lock keeps nobody from adding an index, so locking
    // takes no more than SELECT FOR UPDATE would.
    static std::optional<LiveRows> open_to_lock(const catalog::Queue &queue);
    static std::optional<LiveRows> open_to_write(const catalog::Queue &queue);

    // Locks the row of a job that is due until the transaction ends; what is returned looks as if
    // the claim had been recorded. Nothing: it is not due, not waiting any more, or somebody else
    // holds it.
    std::optional<ClaimedJob> lock_due(const DueJob &waiting, pg::Time now);
    // Locks the row of an attempt that a worker has, or that was left running, until the
    // transaction ends. Nothing: it is not running any more, not this attempt, an executor has it,
    // or somebody else holds its row.
    std::optional<ClaimedJob> lock_external(const DueJob &job, std::int64_t attempt);
    // The row of a job as it is now, in the current memory context; null: there is none.
    RowValues *find(const DueJob &job);
    // Gives columns of the row that was found last these values. False: somebody has changed it
    // since, or holds it.
    bool change(const RowValues &values, std::span<const core::Column> columns);
    // The job of a row that was changed just now, with these values. It keeps them.
    ClaimedJob job_of(const RowValues &values) const;
    // Takes the row of a claimed job out. False: it is not this attempt's.
    bool remove(const ClaimedJob &job);
    // Waits until those who hold the row of a job have ended their transactions; while the job is
    // prefetched by an executor, for a moment only, as that one will say what it does with it.
    // Deadlocks are found.
    void wait_for_holder(std::int64_t id);
    // Whether there is a row of that id now.
    bool is_there(std::int64_t id);

    void close();

private:
    struct Table;
    enum class Purpose : unsigned char { lock, write };
    static Table *open(const catalog::Queue &queue, Purpose purpose);
    explicit LiveRows(Table *table) : table_(table) {}
    Table *table_;  // in the memory context that was current at open()
};

}  // namespace hipq::job
