// The lanes (core/lanes/lane.hpp) of all databases in shared memory: where executors look for work,
// and where whoever has made a job claimable leaves word when its transaction has ended.
//
// Each lane has a lock of its own, held for straight-line code only. A lane in which there is
// nothing can lose its place to another one, so it is named by a reference that goes stale. When
// there is no room for one more lane its jobs are found by looking at the tables: slower, and with
// an alert.
#pragma once

#include "core/lanes/lane_reading.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::lanes {

using core::LaneRef;
inline constexpr LaneRef no_lane{};

// Which jobs of this database stand in a lane: those of one live leaf, type and priority.
struct LaneName {
    Oid leaf;
    int queue_id;
    int priority;
    char type[64];

    LaneName(Oid of_leaf, int of_queue, int of_priority, std::string_view of_type);
    LaneName() = default;
    bool operator==(const LaneName &other) const;
};

// A lane as it was when somebody looked.
struct LaneInfo {
    LaneRef ref;
    LaneName name;
    pg::Time due;           // no job in it is due before; infinity: there is none
    std::int64_t first_id;  // nor, of those that are due then, has a lower id
};

// Everybody
// ----------------------------------------------------------------------------------------------

// The lane of this database with that name; no_lane: there is none.
LaneRef find_lane(const LaneName &name);

// The same; a new one if there is none, of that queue owner; no_lane: there is no room, or the
// owner has its share. Of a new one nothing is known, and nobody reads it before something has been
// said of it: its jobs are not committed yet as a rule.
LaneRef find_or_make_lane(const LaneName &name, Oid owner);

// Says that a lane is worth reading if nothing is known of it. Cannot fail.
void show_lane(LaneRef ref) noexcept;

// Says that jobs in the range may have become claimable, or are worth a look at a time. Cannot
// fail. False: that lane is not there any more, see lose_lanes().
bool note_lane(LaneRef ref, core::KeyRange range,
               pg::Time not_before = pg::Time{core::lane_start.time}) noexcept;

// The same of a job that stands there and whose throttle key is full: it is worth a look when there
// is room (make_capacity()), or at that time.
bool note_full(LaneRef ref, core::LaneKey key, std::uint64_t throttle_key,
               pg::Time not_before) noexcept;

// There is room under a throttle key; with key 0 there may be under any of a database. Cannot fail.
void make_capacity(const core::LimiterName &name) noexcept;

// Says that jobs of a database may have become claimable of which nobody says where: all its lanes
// are read from their beginnings, and its scheduler looks for lanes that are not known. Cannot
// fail.
void lose_lanes(Oid database) noexcept;

// Says that a zone is another than when jobs of a database were put off: they are worth a look.
// Cannot fail.
void look_again_at_lanes(Oid database) noexcept;
// The same of one queue, whose lanes are known. Cannot fail.
void read_lanes_again(Oid database, int queue_id) noexcept;

// No job in it is due before; infinity: there is none.
pg::Time due_of(LaneRef ref);

// Says that a job of a queue may stand in a lane for which there is no room here: the scheduler and
// the executors look for such in the queue's table. Cannot fail.
void search_lanes(Oid database, int queue_id) noexcept;

// The lanes of this database.
std::vector<LaneInfo> list_lanes();

// Those of them in which there is something: of one queue, and the queues that have such, each
// once, by number.
std::vector<LaneInfo> lanes_of_queue(int queue_id);
std::vector<int> queues_with_lanes();

// A part of very many lanes at a time: about so many, all of a queue or none, the queues from a
// number on and then from the beginning.
struct LaneWindow {
    std::size_t most;
    int first_queue = 0;  // moves on to that of the next part
};

// Those that are due, of this database, in a window (null: all); and when the first of the others
// is, as far as those matter that were made for a queue owner; InvalidOid: all.
struct LanesByDue {
    std::vector<LaneInfo> due;
    pg::Time next;
    std::size_t left_out;  // due lanes
};
LanesByDue lanes_by_due(Oid owner, pg::Time now, LaneWindow *window);

// A lane as it is; nothing: it is gone.
std::optional<core::Lane> copy_lane(LaneRef ref);

// Whether every lane of this database has its place here, but for those of crowded queues; and
// every one of a queue.
bool lanes_are_known();
bool lanes_are_known(int queue_id);

// Executor
// ----------------------------------------------------------------------------------------------

using LaneReading = core::LaneReading<core::Lane>;

// Begins to read a lane; it is this process's until it says otherwise, or exits. Nothing: somebody
// else reads it, or it is gone.
std::optional<LaneReading> begin_reading(LaneRef ref, pg::Time now);
void end_reading(LaneRef ref, LaneReading &reading) noexcept;
void cancel_reading(LaneRef ref) noexcept;

// What a process read when it ended is given back unread. Returns whether there was
// anything.
bool cancel_readings(int holder) noexcept;

// Scheduler
// ----------------------------------------------------------------------------------------------

// Whether it has to look for lanes that are not known: how often they were lost so far, to be given
// back once all are found.
std::optional<unsigned> search_due();
void search_done(unsigned losses);

// The queues of this database of which lanes had no room; and one of them, of which all lanes have
// been found since.
std::vector<memory::CrowdedQueue> crowded_queues();
void all_lanes_found(const memory::CrowdedQueue &queue);

// Drops a lane whose table or queue is gone. Should there be jobs all the same, they are searched.
void remove_lane(LaneRef ref);

// Where jobs may stand that can be claimed.
core::Lane::Places places_of(LaneRef ref, pg::Time now);

// Whether a job that can be claimed is where claimers look for it.
bool is_covered(LaneRef ref, core::LaneKey key, std::uint64_t throttle_key);

// Launcher
// ----------------------------------------------------------------------------------------------

// The lanes of all databases in which a job is due, and since when.
struct DueLane {
    Oid database;
    pg::Time due;
};
std::vector<DueLane> due_lanes(pg::Time now);

// Has all that is put off looked at, in all databases: the clock was set back. Cannot fail.
void look_again_everywhere() noexcept;

extern const memory::Part lanes_part;

}  // namespace hipq::lanes
