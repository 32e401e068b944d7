// A row of hipq.job or one of its leaves, accessed by column whatever the order of columns in the
// table.
#pragma once

#include "core/job/row_guard.hpp"
#include "core/job/unique_key.hpp"
#include "core/shards/route.hpp"
#include "pg/spi.hpp"

namespace hipq::job {

// The attribute numbers of a job's columns in one relation; 0: the relation lacks a new column
// (core::is_new), whose values are NULL.
// This is a copy, because any catalogue access may bring an invalidation that empties the cache.
// Call again for each row.
using ColumnMap = std::array<AttrNumber, core::column_count>;
ColumnMap column_map(Relation relation);

// Whether a row has NULL in a column that is never NULL in a job. PostgreSQL enforces that, except
// for damaged files, an older release, or a superuser's direct change. Such a row is not a job that
// can run. Call inside pg::call() only.
bool is_unreadable(TupleTableSlot *slot, const ColumnMap &map);

// Whether the job of a row waits for other jobs. Call inside pg::call() only.
bool is_held(TupleTableSlot *slot, const ColumnMap &map);

// The text of a value. It points into the value, or into the current memory context if the value
// had to be detoasted. Raises an error if detoasting fails.
std::string_view text_view(Datum value);
std::string text_of(Datum value);
bool is_text(Datum value, std::string_view expected);  // call inside pg::call() only
Datum text_datum(std::string_view text);               // call inside pg::call() only
Datum none_datum();                                    // the text NONE, a constant
Datum json_null_datum();  // the jsonb null: kept for the life of the process

// The OIDs of the enum values of hipq.job_state, and back.
Datum state_datum(core::JobState state);
core::JobState state_of(Datum value);

// The values of a row by column, whatever the order of columns. They point into the row.
struct RowValues {
    std::array<Datum, core::column_count> values;
    std::array<bool, core::column_count> nulls;
    bool is_changed;  // set() has been called

    bool null(core::Column column) const { return nulls[static_cast<std::size_t>(column)]; }
    Datum value(core::Column column) const { return values[static_cast<std::size_t>(column)]; }
    void set(core::Column column, Datum value)
    {
        values[static_cast<std::size_t>(column)] = value;
        nulls[static_cast<std::size_t>(column)] = false;
        is_changed = true;
    }
    void set_null(core::Column column)
    {
        nulls[static_cast<std::size_t>(column)] = true;
        is_changed = true;
    }
    // For NULL these return the "nothing" value of each type.
    std::int64_t as_int64(core::Column column) const
    {
        return null(column) ? 0 : DatumGetInt64(value(column));
    }
    // Returns infinity for far_time.
    pg::Time as_time(core::Column column) const { return pg::unless_far({as_int64(column)}); }
    int as_int32(core::Column column) const
    {
        return null(column) ? 0 : DatumGetInt32(value(column));
    }
    std::string_view as_text(core::Column column) const
    {
        return null(column) ? std::string_view() : text_view(value(column));
    }
    core::JobState state() const;  // NULL is initial
    // Needs a whole row; the result points into it.
    core::UniqueKey unique_key(core::UniqueScope scope) const
    {
        return {as_text(core::Column::job_type), as_text(core::Column::job_key),
                core::key_scope(scope, as_text(core::Column::shard_key))};
    }
};

// A tuple of a job, deformed in the current memory context.
class JobRow : public RowValues {
public:
    JobRow(Relation relation, HeapTuple tuple);  // call outside pg::call()
    HeapTuple form() const;  // the row with the changes, in the current memory context

private:
    ColumnMap map_;
    TupleDesc descriptor_;
    HeapTuple tuple_;
};

// Convert a value of type hipq.job to row values, and back, in the current memory context.
RowValues row_values(pg::RawValue row);
pg::RawValue row_of(const RowValues &values, Oid row_type);
// A copy in the current memory context.
const RowValues *kept(const RowValues &values);
// Stores the values in a slot whose columns are described by the map. Call inside pg::call() only.
void fill_slot(TupleTableSlot *slot, const ColumnMap &map, const RowValues &values);

// Changes a waiting row to its form while the next attempt runs: state, attempt, error and times
// are those of the attempt.
void make_running(RowValues &values, int attempt, pg::Time started, pg::Time deadline);

// Changes a running row to its form after the attempt has failed, with a decision still to come.
// The attempt may have requested a delay (in microseconds).
void make_failed(RowValues &values, std::string_view error, std::string_view reason,
                 std::optional<std::int64_t> retry_after, pg::Time now);

// Whether its job waits for its time alone, which has come, and it has not expired.
bool is_due(const RowValues &values, pg::Time now);

// The columns in which two rows of one relation differ.
core::ColumnSet differing_columns(Relation relation, const RowValues &before,
                                  const RowValues &after);

// Registers the invalidation callbacks. _PG_init calls it once; raises ERROR by longjmp.
void watch_job_relations();

}  // namespace hipq::job
