// How processes tell each other which parts of the catalogue have changed.
//
// A change is sent as an invalidation message of PostgreSQL: it goes out with the commit, also by
// two-phase commit and to standbys; the transaction itself gets it after each statement and on
// rollback. Each message names a relation. A change within one queue is sent under the OID of a
// relation that does not exist, so that processes that cache other queues need not read again. If a
// relation with that OID does exist, its cached data is read once more than needed, here and in
// PostgreSQL.
#pragma once

#include "pg/postgres.hpp"

#include <cstdint>
#include <unordered_map>

namespace hipq::catalog {

// The parts of the catalogue that are read together.
enum class Part : unsigned char {
    queue,     // the row of a queue, its own pause, and whether it is held
    types,     // the queue's job types
    pauses,    // pauses of its job types and of their throttle keys, and its open breakers
    instance,  // what the row and the pause of an instance say of all its queues
};

// Tells all processes at commit that a queue or an instance has changed. Call inside pg::call()
// only.
void tell_of_change(Part part, int number);

// The same for the times of a schedule.
void tell_of_schedules();

// How often each part of a queue has changed since this process first read it.
struct QueueVersion {
    std::uint64_t queue = 0;
    std::uint64_t types = 0;
    std::uint64_t pauses = 0;
    bool operator==(const QueueVersion &) const = default;
};

struct Versions {
    std::uint64_t changes = 0;  // of any part
    std::uint64_t whole = 0;    // of what is read as a whole: the set of queues, the maps of shards
    std::uint64_t schedules = 0;  // of the times of schedules, which are no part of the catalogue
    std::unordered_map<int, QueueVersion> queues{};      // the queues that this process has read
    std::unordered_map<int, std::uint64_t> instances{};  // their instances
    // Set while queues are read. A change of a queue that is not known yet then counts as a change
    // of the whole.
    bool is_reading = false;
};

// The counters of this process, which adds the queues that it reads.
Versions &versions();

// The tables whose changes this process listens for. InvalidOid: the table does not exist.
struct WatchedTables {
    Oid queue, job_type, pause, instance, hold, map, coming, leaving, move, schedule, breaker;
};
const WatchedTables &watched_tables();

// Looks up the tables to listen for. Call it before reading them, so that no later change is
// missed. Needs a transaction.
void find_tables();

// Registers the callbacks. _PG_init calls it once; raises ERROR by longjmp.
void watch_catalogue();

}  // namespace hipq::catalog
