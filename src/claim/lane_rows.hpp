// Reading a lane: the rows of one live leaf, type and priority in the order in which they run, from
// any key on.
#pragma once

#include "catalog/cache.hpp"
#include "claim/claim.hpp"
#include "core/lanes/lane.hpp"

namespace hipq::claim {

// A row of a lane. Of rows in a row that cannot be claimed only the last is told, and so of those
// that are due and wait for one opening of their time windows.
struct LaneRow {
    core::LaneKey key;
    ItemPointerData place;  // where it stood; it may have moved since
    bool is_claimable;      // it waits, has not expired and, if its time has come, is not paused
    core::Weight weight;    // only where it was asked for
    std::uint64_t throttle_key;  // core::throttle_key_hash()
    bool is_closed;              // it is due, and outside its time windows
    pg::Time opens;              // closed: until then
    core::LaneKey first;         // closed: the first of those that it stands for
    std::int64_t last_worker;    // the external worker that had it before its retry; 0: none
};

struct LaneRows {
    std::vector<LaneRow> rows;
    bool is_end;  // there are no others in the range
};

// By the index that is made for it, without SQL, so that neither what stands before the range nor
// what is not due yet costs anything. Needs a transaction; close() before it ends.
class LaneIndex {
public:
    // Nothing: the leaf or its index is not as hipq makes them.
    static std::optional<LaneIndex> open(const catalog::Queue &queue);
    void close();

    Oid leaf() const;

    // As committed this moment, up to the first row whose time has not come and `most` others that
    // can be claimed and may start, and that one or one more; or fewer, where those that may not
    // would be too many to tell. What they weigh if that is asked for. Due rows with one of the
    // throttle keys given are paused.
    LaneRows read(std::string_view job_type, int priority, core::KeyRange range, pg::Time now,
                  std::size_t most, bool weighs, StartWindows &windows,
                  std::span<const std::string> paused_keys);

private:
    struct Table;
    explicit LaneIndex(Table *table) : table_(table) {}
    Table *table_;
};

}  // namespace hipq::claim
