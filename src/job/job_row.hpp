// A row of hipq.job or one of its leaves by column, wherever the column stands.
#pragma once

#include "core/job/row_guard.hpp"
#include "core/job/unique_key.hpp"
#include "core/shards/route.hpp"
#include "pg/spi.hpp"

namespace hipq::job {

// Where the columns of a job stand in one relation; 0: a new one that it has not got. A copy: an
// invalidation, which any look at a catalogue may bring, empties the cache it comes from. Ask again
// for each row.
using ColumnMap = std::array<AttrNumber, core::column_count>;
ColumnMap column_map(Relation relation);

// Whether a row has NULL where each job has a value. PostgreSQL sees to it that none has, but for
// what goes past it: damaged files, an older release, a superuser's hand. Such a row is no job that
// anybody could run. PostgreSQL regime.
bool is_unreadable(TupleTableSlot *slot, const ColumnMap &map);

// The text of a value, which points into it, or into the current memory context when it had to be
// detoasted; raises when that fails.
std::string_view text_view(Datum value);
std::string text_of(Datum value);
Datum text_datum(std::string_view text);  // PostgreSQL regime
Datum none_datum();                       // the text NONE: a constant
Datum json_null_datum();                  // the jsonb null: kept for the life of the process

// The OIDs of the enum values of hipq.job_state, and back.
Datum state_datum(core::JobState state);
core::JobState state_of(Datum value);

// The values of a row by column, wherever they stand in it. They point into the row.
struct RowValues {
    std::array<Datum, core::column_count> values;
    std::array<bool, core::column_count> nulls;
    bool is_changed;  // by set()

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
    // NULL gives the value for "nothing" of each type.
    std::int64_t as_int64(core::Column column) const
    {
        return null(column) ? 0 : DatumGetInt64(value(column));
    }
    // Of a far time: infinity.
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
    // Of a whole row. It points into it.
    core::UniqueKey unique_key(core::UniqueScope scope) const
    {
        return {as_text(core::Column::job_type), as_text(core::Column::job_key),
                core::key_scope(scope, as_text(core::Column::shard_key))};
    }
};

// A tuple of a job, taken apart for the current memory context.
class JobRow : public RowValues {
public:
    JobRow(Relation relation, HeapTuple tuple);  // C++ regime
    HeapTuple form() const;  // the row with what was set, in the current memory context

private:
    ColumnMap map_;
    TupleDesc descriptor_;
    HeapTuple tuple_;
};

// Of a value of type hipq.job, and back; in the current memory context.
RowValues row_values(pg::RawValue row);
pg::RawValue row_of(const RowValues &values, Oid row_type);
// A copy in the current memory context.
const RowValues *kept(const RowValues &values);
// Puts them into a slot whose columns stand as the map says. PostgreSQL regime.
void fill_slot(TupleTableSlot *slot, const ColumnMap &map, const RowValues &values);

// A waiting row as it looks while its next attempt runs: state, attempt, error and times are the
// attempt's.
void make_running(RowValues &values, int attempt, pg::Time started, pg::Time deadline);

// A row whose attempt runs as it looks when that has failed so, and a decision is still to come;
// the attempt may have asked for a delay (microseconds).
void make_failed(RowValues &values, std::string_view error, std::string_view reason,
                 std::optional<std::int64_t> retry_after, pg::Time now);

// Whether its job waits, its time has come, and it has not expired.
bool is_due(const RowValues &values, pg::Time now);

// The columns in which two rows of one relation differ.
core::ColumnSet differing_columns(Relation relation, const RowValues &before,
                                  const RowValues &after);

// Registers the invalidation callback; called once by _PG_init. PostgreSQL regime.
void watch_job_relations();

}  // namespace hipq::job
