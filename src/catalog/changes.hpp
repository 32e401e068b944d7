// What of the catalogue has changed, as processes tell each other.
//
// A change goes by an invalidation message of PostgreSQL: with the commit, by two-phase commit and
// to standbys too; the transaction itself is told after each statement, and by a rollback. Such a
// message names a relation. What changes in one queue alone is told by the number of a relation
// that there is none of, so that whoever caches other queues need not read again. Should there be
// one, what is cached of it is read once too often, here and in PostgreSQL.
#pragma once

#include "pg/postgres.hpp"

#include <cstdint>
#include <unordered_map>

namespace hipq::catalog {

// What is read together.
enum class Part : unsigned char {
    queue,     // the row of a queue, its own pause, and whether it is held
    types,     // its job types
    pauses,    // pauses of its job types and of their throttle keys
    instance,  // of an instance: what its row and its pause say of each of its queues
};

// Tells all processes, with the commit, of a change in a queue or an instance. PostgreSQL regime.
void tell_of_change(Part part, int number);

// How often each part of a queue has changed since this process came to know of it.
struct QueueVersion {
    std::uint64_t queue = 0;
    std::uint64_t types = 0;
    std::uint64_t pauses = 0;
    bool operator==(const QueueVersion &) const = default;
};

struct Versions {
    std::uint64_t changes = 0;  // of anything
    std::uint64_t whole = 0;    // of what is read whole: which queues there are, the maps of shards
    std::unordered_map<int, QueueVersion> queues{};      // those that this process knows
    std::unordered_map<int, std::uint64_t> instances{};  // theirs
    bool is_read_whole_now = false;  // then a change of one that is not known yet counts as one of
                                     // all
};

// Of this process, which enters the queues that it comes to know.
Versions &versions();

// The tables that are listened for; InvalidOid: there is none.
struct WatchedTables {
    Oid queue, job_type, pause, instance, hold, map, coming, leaving, move;
};
const WatchedTables &watched_tables();

// Looks up which tables to listen for: before they are read, so that no later change is missed.
// Needs a transaction.
void find_tables();

// Registers the callbacks; called once by _PG_init. PostgreSQL regime.
void watch_catalogue();

}  // namespace hipq::catalog
