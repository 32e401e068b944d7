// Reads a lane in order, from any key on, by its index.
//
// The index scan starts by a row comparison of (scheduled_run_time, id). So even rows of the same
// scheduled_run_time, as a bulk insert makes them, are not read twice.
#include "claim/lane_rows.hpp"

#include "catalog/cache.hpp"
#include "claim/lane_indexes.hpp"
#include "claim/weight.hpp"
#include "core/job/validate.hpp"
#include "core/text/names.hpp"
#include "job/aimed_jobs.hpp"
#include "job/job_row.hpp"
#include "job/plain_table.hpp"
#include "pg/compat.hpp"

extern "C" {
#include "access/tableam.h"
#include "utils/fmgroids.h"
}

namespace hipq::claim {

using core::Column;
using core::KeyRange;

namespace {

// The parameters and results of a reading. The memory belongs to the C++ side; code inside
// pg::call() writes it.
struct Reading {
    Datum type;
    std::int16_t priority;
    std::uint64_t throttle_key;  // 0: all rows
    KeyRange range;
    std::int64_t now;
    std::size_t most;
    std::span<LaneRow> rows;
    std::size_t count;
    std::size_t startable;  // how many of the rows can be claimed and may start
    bool is_end;
    bool weighs;
    std::array<Oid, 2> waiting;  // the states in which a job can be claimed
    std::span<const StartWindows::Known> windows;
    const char *unknown_windows;  // the windows of the row at which the scan stopped, for
                                  // StartWindows::opens(); null: it did not stop
    std::span<const std::string> paused_keys;
};

// Adds a row. Of consecutive rows that are alike, only one entry is kept (see LaneRow).
void add(Reading &reading, const LaneRow &found)
{
    LaneRow *last = reading.count == 0 ? nullptr : &reading.rows[reading.count - 1];
    const bool is_due = found.key.time <= reading.now;
    if (last != nullptr && !last->is_claimable && !found.is_claimable)
        *last = found;
    else if (last != nullptr && last->is_closed && is_due &&
             (!found.is_claimable || (found.is_closed && found.opens == last->opens)))
        last->key = found.key;
    else
        reading.rows[reading.count++] = found;
    reading.startable += found.is_claimable && !found.is_closed ? 1 : 0;
}

// A comparison of (scheduled_run_time, id) with a key, in the form of one scan key.
struct RowComparison {
    ScanKeyData parts[2];

    // `column`: of scheduled_run_time; that of id is the next one.
    ScanKeyData key(AttrNumber column, StrategyNumber strategy, core::LaneKey bound)
    {
        ::ScanKeyEntryInitialize(&parts[0], SK_ROW_MEMBER, column, strategy, InvalidOid, InvalidOid,
                                 F_TIMESTAMPTZ_CMP, TimestampTzGetDatum(bound.time));
        ::ScanKeyEntryInitialize(&parts[1], SK_ROW_MEMBER | SK_ROW_END,
                                 static_cast<AttrNumber>(column + 1), strategy, InvalidOid,
                                 InvalidOid, F_BTINT8CMP, Int64GetDatum(bound.id));
        ScanKeyData header{};
        header.sk_flags = SK_ROW_HEADER;
        header.sk_attno = parts[0].sk_attno;
        header.sk_strategy = strategy;
        header.sk_argument = PointerGetDatum(parts);
        return header;
    }
};

// The scan keys for a lane, or for a throttle key in it, whose index has one column more.
class ScanKeys {
public:
    ScanKeys(Relation index, const Reading &reading, bool is_by_key)
    {
        add(1, BTEqualStrategyNumber, F_TEXTEQ, reading.type, index->rd_indcollation[0]);
        if (is_by_key)
            add(2, BTEqualStrategyNumber, F_INT8EQ,
                Int64GetDatum(static_cast<std::int64_t>(reading.throttle_key)));
        priority_ = is_by_key ? 3 : 2;
        add(priority_, BTEqualStrategyNumber, F_INT2EQ, Int16GetDatum(reading.priority));
    }
    ScanKeys(const ScanKeys &) = delete;
    ScanKeys &operator=(const ScanKeys &) = delete;

    void from(core::LaneKey first)
    {
        keys_[count_++] = from_.key(time(), BTGreaterEqualStrategyNumber, first);
    }
    void before(std::int64_t before_time)
    {
        add(time(), BTLessStrategyNumber, F_TIMESTAMPTZ_LT, TimestampTzGetDatum(before_time));
    }
    void of_time(std::int64_t only_time, std::int64_t first_id, std::int64_t last_id)
    {
        const auto id = static_cast<AttrNumber>(time() + 1);
        add(time(), BTEqualStrategyNumber, F_TIMESTAMPTZ_EQ, TimestampTzGetDatum(only_time));
        add(id, BTGreaterEqualStrategyNumber, F_INT8GE, Int64GetDatum(first_id));
        add(id, BTLessEqualStrategyNumber, F_INT8LE, Int64GetDatum(last_id));
    }

    ScanKey data() { return keys_.data(); }
    int count() const { return count_; }

private:
    AttrNumber time() const { return static_cast<AttrNumber>(priority_ + 1); }
    void add(AttrNumber column, StrategyNumber strategy, RegProcedure procedure, Datum value,
             Oid collation = InvalidOid)
    {
        ::ScanKeyEntryInitialize(&keys_[count_++], 0, column, strategy, InvalidOid, collation,
                                 procedure, value);
    }

    std::array<ScanKeyData, 6> keys_{};
    RowComparison from_{};
    AttrNumber priority_ = 0;
    int count_ = 0;
};

}  // namespace

struct LaneIndex::Table {
    Relation live;
    Relation lane;
    Relation by_key;  // null: not opened yet, or the leaf has no such index
    bool has_looked_for_it;
    job::ColumnMap map;
    TupleTableSlot *slot;

    bool open(const char *name);
    bool open_lane();
    void open_key_index(const char *name);
    void read(Reading &reading) const;
    bool has_read_before(Relation index, std::int64_t time, Reading &reading) const;
    void scan(Relation index, ScanKeys &keys, Reading &reading) const;
    void look_through(IndexScanDesc scan, Reading &reading) const;
    LaneRow row(const Reading &reading) const;
    void look_at_windows(LaneRow &found, Reading &reading) const;
    void close() const;

private:
    Relation index_for(const Reading &reading) const;
    Datum value(Column column) const;
    std::int64_t last_worker() const;
    core::NextAttempt next_attempt() const;
    bool is_aimed() const { return last_worker() == job::aimed_worker_id; }
};

// ---- call inside pg::call() only ----

bool LaneIndex::Table::open(const char *name)
{
    live = job::open_table(name, AccessShareLock);
    if (live != nullptr)
        slot = ::table_slot_create(live, nullptr);
    return live != nullptr;
}

// Needs the column map.
bool LaneIndex::Table::open_lane()
{
    lane = open_lane_index(live, map);
    return lane != nullptr;
}

void LaneIndex::Table::open_key_index(const char *name)
{
    if (!std::exchange(has_looked_for_it, true))
        by_key = open_throttle_index(live, name);
}

// Returns a column of the row that was found. The column is never NULL.
Datum LaneIndex::Table::value(Column column) const
{
    bool is_null = false;
    return ::slot_getattr(slot, map[static_cast<std::size_t>(column)], &is_null);
}

std::int64_t LaneIndex::Table::last_worker() const
{
    bool is_null = false;
    const Datum worker =
        ::slot_getattr(slot, map[static_cast<std::size_t>(Column::worker_id)], &is_null);
    return is_null ? 0 : DatumGetInt64(worker);
}

core::NextAttempt LaneIndex::Table::next_attempt() const
{
    bool is_null = false;
    const Datum ttl =
        ::slot_getattr(slot, map[static_cast<std::size_t>(Column::queue_ttl)], &is_null);
    return {DatumGetInt32(value(Column::attempt)) + 1, is_null ? 0 : DatumGetInt32(ttl)};
}

bool is_among(std::span<const std::string> keys, Datum value)
{
    const text *key = DatumGetTextPP(value);
    const std::string_view wanted(VARDATA_ANY(key), VARSIZE_ANY_EXHDR(key));
    return std::find(keys.begin(), keys.end(), wanted) != keys.end();
}

LaneRow LaneIndex::Table::row(const Reading &reading) const
{
    if (job::is_unreadable(slot, map)) {  // the audit sets it aside
        LaneRow passed{};
        passed.key = {DatumGetTimestampTz(value(Column::scheduled_run_time)),
                      DatumGetInt64(value(Column::id))};
        passed.first = passed.key;
        passed.place = slot->tts_tid;
        return passed;
    }
    const Oid state = DatumGetObjectId(value(Column::state));
    const bool waits = state == reading.waiting[0] || state == reading.waiting[1];
    const core::LaneKey key{DatumGetTimestampTz(value(Column::scheduled_run_time)),
                            DatumGetInt64(value(Column::id))};
    const bool is_meant =
        reading.throttle_key == 0 || key_of(value(Column::throttle_key)) == reading.throttle_key;
    const bool is_paused = !reading.paused_keys.empty() && key.time <= reading.now &&
                           is_among(reading.paused_keys, value(Column::throttle_key));
    return {key,
            slot->tts_tid,
            waits && is_meant && !is_paused && !is_aimed() &&
                DatumGetTimestampTz(value(Column::expires_time)) > reading.now,
            reading.weighs ? weight_of(value(Column::throttle_factor)) : 0,
            reading.weighs ? key_of(value(Column::throttle_key)) : 0,
            false,
            pg::Time{0},
            key,
            state == reading.waiting[1] ? last_worker() : 0,
            next_attempt()};
}

// Checks whether the row that was found is outside its time windows. If the windows are not known
// yet, keeps their text in unknown_windows.
void LaneIndex::Table::look_at_windows(LaneRow &found, Reading &reading) const
{
    const Datum stored = value(Column::time_windows);
    text *content = DatumGetTextPP(stored);
    const std::string_view windows(VARDATA_ANY(content), VARSIZE_ANY_EXHDR(content));
    if (windows != core::none_text) {
        const auto known =
            std::find_if(reading.windows.begin(), reading.windows.end(),
                         [&](const StartWindows::Known &each) { return each.windows == windows; });
        if (known == reading.windows.end()) {
            reading.unknown_windows = ::text_to_cstring(content);
        } else {
            found.opens = known->opens;
            found.is_closed = found.opens.value > reading.now;
        }
    }
    if (PointerGetDatum(content) != stored)
        ::pfree(content);
}

void LaneIndex::Table::look_through(IndexScanDesc scan, Reading &reading) const
{
    while (reading.startable <= reading.most && reading.count < reading.rows.size()) {
        if (!::index_getnext_slot(scan, ForwardScanDirection, slot)) {
            reading.is_end = true;
            return;
        }
        LaneRow found = row(reading);
        if (reading.range.last < found.key) {
            reading.is_end = true;
            return;
        }
        if (found.is_claimable && found.key.time <= reading.now)
            look_at_windows(found, reading);
        if (reading.unknown_windows != nullptr) {
            reading.range.first = found.key;
            return;
        }
        add(reading, found);
        if (found.key.time > reading.now)
            return;
        CHECK_FOR_INTERRUPTS();
    }
}

// Uses an upper bound where there is one. After a single row that was committed late there may be
// millions of index entries of removed rows, and a scan for the next row would walk over all of
// them. Before PostgreSQL 18, a comparison of (scheduled_run_time, id) ends a scan by its first
// column only, and all rows of a bulk insert have the same time. So the rows of the last time are
// read by a scan of their own.
void LaneIndex::Table::read(Reading &reading) const
{
    const KeyRange range = reading.range;
    const bool is_of_one_time = range.first.time == range.last.time;
    const Relation index = index_for(reading);
    ::PushActiveSnapshot(::GetLatestSnapshot());
    if (range.last == core::lane_end) {
        ScanKeys keys(index, reading, index == by_key);
        keys.from(range.first);
        scan(index, keys, reading);
    } else if (is_of_one_time || has_read_before(index, range.last.time, reading)) {
        ScanKeys keys(index, reading, index == by_key);
        keys.of_time(range.last.time,
                     is_of_one_time ? range.first.id : std::numeric_limits<std::int64_t>::min(),
                     range.last.id);
        scan(index, keys, reading);
    }
    ::ExecClearTuple(slot);
    ::PopActiveSnapshot();
}

Relation LaneIndex::Table::index_for(const Reading &reading) const
{
    return reading.throttle_key != 0 && by_key != nullptr ? by_key : lane;
}

// Reads the rows of earlier times. False: the reading stopped at one of them.
bool LaneIndex::Table::has_read_before(Relation index, std::int64_t time, Reading &reading) const
{
    ScanKeys keys(index, reading, index == by_key);
    keys.from(reading.range.first);
    keys.before(time);
    scan(index, keys, reading);
    return std::exchange(reading.is_end, false);
}

void LaneIndex::Table::scan(Relation index, ScanKeys &keys, Reading &reading) const
{
    IndexScanDesc found = pg::begin_index_scan(live, index, keys.count());
    ::index_rescan(found, keys.data(), keys.count(), nullptr, 0);
    look_through(found, reading);
    ::index_endscan(found);
}

void LaneIndex::Table::close() const
{
    if (slot != nullptr)
        ::ExecDropSingleTupleTableSlot(slot);
    for (Relation relation : {by_key, lane, live})
        if (relation != nullptr)
            ::relation_close(relation, NoLock);
}

// ---- ordinary C++ ----

std::optional<LaneIndex> LaneIndex::open(const catalog::Queue &queue)
{
    const std::string name = queue.live_table();
    auto *table = pg::call([] { return static_cast<Table *>(::palloc0(sizeof(Table))); });
    LaneIndex index(table);
    if (pg::call([&] { return table->open(name.c_str()); })) {
        table->map = job::column_map(table->live);
        if (pg::call([&] { return table->open_lane(); }))
            return index;
    }
    index.close();
    return std::nullopt;
}

void LaneIndex::close()
{
    pg::call([&] { table_->close(); });
}

Oid LaneIndex::leaf() const
{
    return RelationGetRelid(table_->live);
}

LaneRows LaneIndex::read(const LaneStretch &stretch, pg::Time now, std::size_t most, bool weighs,
                         StartWindows &windows, std::span<const std::string> paused_keys)
{
    LaneRows result{std::vector<LaneRow>(2 * (most + 1) + 1), false};
    Reading reading{Datum{0},
                    static_cast<std::int16_t>(stretch.priority),
                    stretch.throttle_key,
                    stretch.range,
                    now.value,
                    most,
                    result.rows,
                    0,
                    0,
                    false,
                    weighs,
                    {DatumGetObjectId(job::state_datum(core::JobState::initial)),
                     DatumGetObjectId(job::state_datum(core::JobState::retry))},
                    windows.known(),
                    nullptr,
                    paused_keys};
    const std::string key_index = core::throttle_index_name(RelationGetRelationName(table_->live));
    for (;;) {
        pg::call([&] {
            if (stretch.throttle_key != 0)
                table_->open_key_index(key_index.c_str());
            reading.type = PointerGetDatum(::cstring_to_text_with_len(
                stretch.job_type.data(), static_cast<int>(stretch.job_type.size())));
            table_->read(reading);
        });
        if (reading.unknown_windows == nullptr)
            break;
        windows.opens(reading.unknown_windows);
        reading.windows = windows.known();
        reading.unknown_windows = nullptr;
    }
    result.rows.resize(reading.count);
    result.is_end = reading.is_end;
    return result;
}

}  // namespace hipq::claim
