// Inserts new jobs into the live leaf of a queue without SQL: the work of INSERT without planning,
// routing, triggers and checks. The caller has applied the rules of new_job.hpp, which are those of
// the trigger.
#pragma once

#include "catalog/catalog.hpp"
#include "job/job.hpp"

namespace hipq::enqueue {

// Callers with many jobs build and write this many rows at a time, or fewer if these take this much
// memory.
inline constexpr std::size_t rows_at_once = 100;
inline constexpr std::size_t bytes_at_once = 1'000'000;

// Needs a transaction. close() closes what it has opened, or the abort does.
class NewRows {
public:
    // Nothing: the caller must use SQL, because the leaf does not exist or is not as hipq creates
    // it (job/plain_table.hpp); because a user has added something that only SQL respects (a unique
    // index, a CHECK for all leaves, a rule, a policy for the owner); or because the guard trigger
    // would let rows of this session pass. Raises 25006 in a read-only transaction. The locks are
    // those of INSERT.
    enum class With : bool { no_keys, keys };  // what insert_unless_taken() will insert
    static std::optional<NewRows> open(const catalog::Queue &queue, With with);

    // Coerces chosen values to the types of their columns, as an assignment does. Raises the errors
    // of an assignment.
    void coerce(job::RowValues &chosen) const;

    // Checks what INSERT would check, for a row that was made elsewhere: NOT NULL, CHECK, and the
    // domains of columns. Raises class 23. (Rows that hipq makes here have passed the rules, which
    // allow nothing more.)
    void demand_constraints(const job::RowValues &job) const;

    // Inserts rows of jobs without key. False: an id is in use, and the transaction must be
    // aborted.
    bool insert(std::span<const job::RowValues> jobs);
    // Inserts one row as ON CONFLICT DO NOTHING does. False: its id or key is in use.
    bool insert_unless_taken(const job::RowValues &job);
    // Inserts one row as INSERT does: raises 23505 for an id or key that is in use.
    void insert_or_raise(const job::RowValues &job);

    Oid leaf() const;
    void close();

private:
    struct Leaf;
    explicit NewRows(Leaf *leaf) : leaf_(leaf) {}
    Leaf *leaf_;  // in the memory context that was current at open()
};

}  // namespace hipq::enqueue
