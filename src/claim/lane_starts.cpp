// Finds where the lanes of a queue begin, by index descents from one lane to the next.
//
// The statement that lists the lanes with their first waiting jobs takes 0.3 ms for each queue,
// mostly to start and end. A caller that searches all queues for a few lanes uses this first, to
// leave most queues out.
#include "claim/claim.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_by_queue.hpp"
#include "claim/lane_indexes.hpp"
#include "job/job_row.hpp"
#include "job/plain_table.hpp"
#include "pg/compat.hpp"

extern "C" {
#include "utils/fmgroids.h"
}

namespace hipq::claim {

namespace {

// ---- call inside pg::call() only ----

struct Place {
    text *job_type;
    std::int16_t priority;
    std::int64_t time;
};

struct LaneWalk {
    Relation live;
    Relation lanes;
    IndexScanDesc scan;
    ScanKeyData parts[2];  // the row to compare lanes with; the scan reads it as it proceeds

    void begin();
    bool next(Place &place);
    void close() const;

private:
    void go_on(const Place &place, StrategyNumber strategy);
};

void LaneWalk::begin()
{
    // Raises an error if the table's file does not exist, as reading its rows would.
    (void)RelationGetNumberOfBlocks(live);
    ::PushActiveSnapshot(::GetLatestSnapshot());
    scan = pg::begin_index_scan(live, lanes, 1);
    scan->xs_want_itup = true;
}

// Moves to the first entry whose (job_type, priority) is greater than, or equal to, that of the
// place.
void LaneWalk::go_on(const Place &place, StrategyNumber strategy)
{
    ::ScanKeyEntryInitialize(&parts[0], SK_ROW_MEMBER, 1, strategy, InvalidOid,
                             lanes->rd_indcollation[0], F_BTTEXTCMP,
                             PointerGetDatum(place.job_type));
    ::ScanKeyEntryInitialize(&parts[1], SK_ROW_MEMBER | SK_ROW_END, 2, strategy, InvalidOid,
                             InvalidOid, F_BTINT2CMP, Int16GetDatum(place.priority));
    ScanKeyData header{};
    header.sk_flags = SK_ROW_HEADER;
    header.sk_attno = 1;
    header.sk_strategy = strategy;
    header.sk_argument = PointerGetDatum(parts);
    ::index_rescan(scan, &header, 1, nullptr, 0);
}

// Finds the next lane; place.job_type is null before the first. False: there are no more lanes.
bool LaneWalk::next(Place &place)
{
    CHECK_FOR_INTERRUPTS();
    Place from = place;
    if (place.job_type == nullptr)
        from = {::cstring_to_text(""), std::numeric_limits<std::int16_t>::min(), 0};
    go_on(from, place.job_type == nullptr ? BTGreaterEqualStrategyNumber : BTGreaterStrategyNumber);
    if (::index_getnext_tid(scan, ForwardScanDirection) == nullptr)
        return false;
    bool is_null = false;
    const auto value = [&](int column) {
        return index_getattr(scan->xs_itup, column, scan->xs_itupdesc, &is_null);
    };
    place = {DatumGetTextPCopy(value(1)), DatumGetInt16(value(2)), DatumGetTimestampTz(value(3))};
    return true;
}

void LaneWalk::close() const
{
    if (scan != nullptr) {
        ::index_endscan(scan);
        ::PopActiveSnapshot();
    }
    for (Relation relation : {lanes, live})
        if (relation != nullptr)
            ::relation_close(relation, NoLock);
}

// ---- ordinary C++ ----

std::vector<LaneStart> starts_in(LaneWalk &walk)
{
    pg::call([&] { walk.begin(); });
    std::vector<LaneStart> starts;
    Place place{};
    while (pg::call([&] { return walk.next(place); }))
        starts.push_back(
            {job::text_of(PointerGetDatum(place.job_type)), place.priority, pg::Time{place.time}});
    return starts;
}

}  // namespace

std::optional<std::vector<LaneStart>> lane_starts(const catalog::Queue &queue)
{
    if (!catalog::can_be_read(queue))
        return std::nullopt;
    const std::string name = queue.live_table();
    std::optional<std::vector<LaneStart>> starts;
    LaneWalk walk{};
    walk.live = pg::call([&] { return job::open_table(name.c_str(), AccessShareLock); });
    if (walk.live != nullptr) {
        const job::ColumnMap map = job::column_map(walk.live);
        walk.lanes = pg::call([&] { return open_lane_index(walk.live, map); });
        if (walk.lanes != nullptr)
            starts = starts_in(walk);
    }
    pg::call([&] { walk.close(); });
    return starts;
}

}  // namespace hipq::claim
