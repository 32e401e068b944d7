// The lanes (core/lanes/lane.hpp) of all databases in shared memory. Executors look for work there.
// A process that makes a job claimable records it in the job's lane when its transaction has ended.
//
// Each lane has its own lock, which is held for straight-line code only. An empty lane can lose its
// place to another lane, so lanes are named by references that become stale. If there is no room
// for another lane, its jobs are found by reading the tables, which is slower and raises an alert.
#pragma once

#include "core/lanes/lane.hpp"
#include "core/lanes/lane_reader.hpp"
#include "core/lanes/pockets.hpp"
#include "core/limits/limiter_name.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::lanes {

using core::LaneRef;
inline constexpr LaneRef no_lane{};

// Identifies a lane of this database: the jobs of one live leaf, type and priority.
struct LaneName {
    Oid leaf;
    int queue_id;
    int priority;
    char type[64];

    LaneName(Oid of_leaf, int of_queue, int of_priority, std::string_view of_type);
    LaneName() = default;
    bool operator==(const LaneName &other) const;
};

// A snapshot of a lane.
struct LaneInfo {
    LaneRef ref;
    LaneName name;
    pg::Time due;           // no job in it is due before this time; infinity: the lane is empty
    std::int64_t first_id;  // no job due at that time has a lower id
};

// Any process
// ----------------------------------------------------------------------------------------------

// Returns the lane of this database with that name, or no_lane if there is none.
LaneRef find_lane(const LaneName &name);

// The same, but makes a lane for that queue owner if there is none. Returns no_lane if there is no
// room, or if the owner has used up its share. Nothing is known of a new lane, and no process reads
// it until something is noted in it, because its jobs usually are not committed yet.
LaneRef find_or_make_lane(const LaneName &name, Oid owner);

// Publishes when the lane is due, so that a new lane of which nothing is known becomes worth
// reading. Cannot fail.
void show_lane(LaneRef ref) noexcept;

// Notes that jobs in the range may have become claimable, or are worth a look from `not_before` on.
// Cannot fail. Returns false if the lane no longer exists; see lose_lanes().
[[nodiscard]] bool note_lane(LaneRef ref, core::KeyRange range,
                             pg::Time not_before = pg::Time{core::lane_start.time}) noexcept;

// Parks a throttle key (core/lanes/parked_keys.hpp): jobs of the key in the range wait until there
// is capacity (make_capacity()), or until `not_before`. Cannot fail. Returns false if there is no
// room, or if the lane no longer exists: note the jobs in the lane instead, and not too early.
[[nodiscard]] bool park_key(LaneRef ref, core::KeyRange range, std::uint64_t throttle_key,
                            pg::Time not_before) noexcept;

// Reports that there is capacity under a throttle key. Key 0 means that there may be capacity under
// any key of the database. Cannot fail.
void make_capacity(const core::LimiterName &name) noexcept;

// Reports that jobs of a database may have become claimable at unknown places: all its lanes are
// read from their beginnings, and its scheduler searches for lanes that are not known. Cannot fail.
void lose_lanes(Oid database) noexcept;

// Reports that a time zone has changed since jobs of a database were put off: those jobs are worth
// a look now. Cannot fail.
void look_again_at_lanes(Oid database) noexcept;
// Makes all lanes of one queue be read from their beginnings; the lanes must be known. Cannot fail.
void read_lanes_again(Oid database, int queue_id) noexcept;

// No job in the lane is due before this time; infinity: the lane is empty.
pg::Time due_of(LaneRef ref);
// No job in the lane comes before this key; nothing: the lane is gone.
std::optional<core::LaneKey> next_due_of(LaneRef ref);

// Reports that a job of a queue may belong to a lane for which there is no room here. The scheduler
// and the executors then look for its jobs in the queue's table. Cannot fail.
void search_lanes(Oid database, int queue_id) noexcept;

// The lanes of this database.
std::vector<LaneInfo> list_lanes();

// lanes_of_queue() returns the lanes of a queue that are not empty; queues_with_lanes() returns the
// numbers of the queues that have at least one, each once, in order.
std::vector<LaneInfo> lanes_of_queue(int queue_id);
std::vector<int> queues_with_lanes();

// Part of a large number of lanes: about `most` of them, always all lanes of a queue or none. The
// window goes through the queues by number, from `first_queue` on and then from the beginning.
struct LaneWindow {
    std::size_t most;
    int first_queue = 0;  // advances to the first queue of the next part
};

// The due lanes of this database within the window (null: all of them), and when the next of the
// other lanes is due. Counts only lanes made for that owner as next; InvalidOid: all lanes.
struct LanesByDue {
    std::vector<LaneInfo> due;
    pg::Time next;
    std::size_t left_out;  // due lanes outside the window
};
LanesByDue lanes_by_due(Oid owner, pg::Time now, LaneWindow *window);

// Returns a copy of the lane, or nothing if the lane is gone.
std::optional<core::Lane> copy_lane(LaneRef ref);

// Whether every lane of this database is in the table, except for those of crowded queues; and
// whether every lane of the queue is.
bool lanes_are_known();
bool lanes_are_known(int queue_id);

// Executor
// ----------------------------------------------------------------------------------------------

using LaneReading = core::LaneReading<core::Lane>;

// Begins to read a lane. The lane belongs to this process until it ends or cancels the reading, or
// exits. Returns nothing if another process reads the lane, or if it is gone.
std::optional<LaneReading> begin_reading(LaneRef ref, pg::Time now);
void end_reading(LaneRef ref, LaneReading &reading) noexcept;
void cancel_reading(LaneRef ref) noexcept;

// For the process that reads the lane: puts back what the reading has left of a key, and goes on
// with the next parked key that is ready, if its rows come before those that it would read next.
// Returns that throttle key; 0: there is none. Cannot fail.
std::uint64_t read_next_key(LaneRef ref, LaneReading &reading, pg::Time now) noexcept;

// Gives back, unread, the lanes that an exiting process was reading. Returns whether there were
// any.
bool cancel_readings(int holder) noexcept;

// Scheduler
// ----------------------------------------------------------------------------------------------

// Whether the scheduler must search for lanes that are not known. The result is the number of
// losses so far; pass it to search_done() when all lanes are found.
std::optional<unsigned> search_due();
void search_done(unsigned losses);

// crowded_queues() lists the queues of this database for some of whose lanes there was no room.
// all_lanes_found() removes one of them, after all its lanes have been found.
std::vector<memory::CrowdedQueue> crowded_queues();
void all_lanes_found(const memory::CrowdedQueue &queue);

// Drops a lane whose table or queue is gone. If it may still have jobs, the scheduler is made to
// search for lanes.
void remove_lane(LaneRef ref);

// Where the lane may have claimable jobs. Each parked key that is ready counts as a single key.
core::Lane::Places places_of(LaneRef ref, pg::Time now);

// Whether a claimable job is at a place where claims look for it.
bool is_covered(LaneRef ref, core::LaneKey key, std::uint64_t throttle_key);

// Launcher
// ----------------------------------------------------------------------------------------------

// The lanes of all databases in which a job is due, and since when.
struct DueLane {
    Oid database;
    pg::Time due;
};
std::vector<DueLane> due_lanes(pg::Time now);

// Makes everything that was put off be looked at again, in all databases, because the clock was set
// back. Cannot fail.
void look_again_everywhere() noexcept;

extern const memory::Part lanes_part;

}  // namespace hipq::lanes
