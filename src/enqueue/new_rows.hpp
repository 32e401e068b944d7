// The live leaf of a queue, for new jobs and without SQL: what INSERT would do, without planning,
// routing, triggers and checks. Whoever inserts has applied the rules of new_job.hpp, which are the
// trigger's.
#pragma once

#include "catalog/catalog.hpp"
#include "job/job.hpp"

namespace hipq::enqueue {

// Callers with many jobs make and write this many rows at a time, or fewer if they take this much
// memory.
inline constexpr std::size_t rows_at_once = 100;
inline constexpr std::size_t bytes_at_once = 1'000'000;

// Needs a transaction. What it opens is closed by close(), or by the abort.
class NewRows {
public:
    // Nothing: SQL has to do. The leaf is gone or not as hipq makes it (job/plain_table.hpp); or
    // somebody has added what only SQL respects (a unique index, a CHECK for all leaves, a rule, a
    // policy for the owner); or the session is one whose rows the guard trigger would let pass.
    // Raises 25006 in a read-only transaction. The locks are INSERT's.
    enum class With : bool { no_keys, keys };  // what insert_unless_taken() will be called for
    static std::optional<NewRows> open(const catalog::Queue &queue, With with);

    // Gives chosen values the form of their columns, as an assignment does. Raises what that
    // raises.
    void coerce(job::RowValues &chosen) const;

    // What INSERT would check of a row, for one that was made elsewhere: NOT NULL, CHECK, and the
    // domains of columns. Raises class 23. (What hipq makes here has passed the rules, which allow
    // no more.)
    void demand_constraints(const job::RowValues &job) const;

    // Rows of jobs without key; false: an id is in use, and the transaction has to end.
    bool insert(std::span<const job::RowValues> jobs);
    // One row, as ON CONFLICT DO NOTHING does it; false: its id or key is in use.
    bool insert_unless_taken(const job::RowValues &job);
    // One row, as INSERT does it: 23505 for an id or key that is in use.
    void insert_or_raise(const job::RowValues &job);

    Oid leaf() const;
    void close();

private:
    struct Leaf;
    explicit NewRows(Leaf *leaf) : leaf_(leaf) {}
    Leaf *leaf_;  // in the memory context that was current at open()
};

}  // namespace hipq::enqueue
