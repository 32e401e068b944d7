// Reads a lane: the rows of one live leaf, type and priority in the order in which they run, from
// any key on.
#pragma once

#include "catalog/cache.hpp"
#include "claim/claim.hpp"
#include "core/lanes/lane.hpp"
#include "job/job_row.hpp"

namespace hipq::claim {

// A row of a lane. Of consecutive rows that cannot be claimed, only the last has an entry.
// Consecutive due rows whose time windows open at the same time share one entry.
struct LaneRow {
    core::LaneKey key;
    ItemPointerData place;  // where the row was found; it may have moved since
    bool is_claimable;      // it waits, has not expired and, if its time has come, is not paused
    core::Weight weight;    // only if the caller asked for it
    std::uint64_t throttle_key;  // core::throttle_key_hash()
    bool is_closed;              // it is due, and outside its time windows
    pg::Time opens;              // if is_closed: when the windows open
    core::LaneKey first;         // if is_closed: the first row of this entry
    std::int64_t last_worker;    // the external worker that had it before its retry; 0: none
    core::NextAttempt next;
};

struct LaneRows {
    std::vector<LaneRow> rows;
    bool is_end;  // the range has no further rows
};

// Which rows of a queue's live leaf to read.
struct LaneStretch {
    std::string_view job_type;
    int priority;
    core::KeyRange range;
    std::uint64_t throttle_key;  // of the rows; 0: all rows
};

// Reads by the index made for lanes, without SQL, so that neither rows before the range nor rows
// that are not due yet cost anything. The rows of a throttle key are read by the index made for
// keys, or if there is none among all others. Needs a transaction; call close() before it ends.
class LaneIndex {
public:
    // Nothing: the leaf or its index is not as hipq creates it.
    static std::optional<LaneIndex> open(const catalog::Queue &queue);
    void close();

    Oid leaf() const;

    // Reads rows as committed at this moment. Stops after `most` + 1 rows that can be claimed and
    // may start, or after the first row that is not due, or when the result has no space for more
    // of the other rows. Reads the weights if `weighs`. Due rows with one of `paused_keys` cannot
    // be claimed.
    LaneRows read(const LaneStretch &stretch, pg::Time now, std::size_t most, bool weighs,
                  StartWindows &windows, std::span<const std::string> paused_keys);

private:
    struct Table;
    explicit LaneIndex(Table *table) : table_(table) {}
    Table *table_;
};

}  // namespace hipq::claim
