// What is counted of jobs, for the whole server: in shared memory, and in a file while the server
// is down.
//
// It has a lock of its own, taken once for each transaction that ends attempts.
#pragma once

#include "core/statistics/statistics.hpp"
#include "pg/spi.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::statistics {

// Whose statistics. The queue by name too, so that it can be told in other databases.
struct CountedType {
    Oid database;
    Oid owner;  // of the queue
    int queue_id;
    char queue[2 * NAMEDATALEN + 2];
    char job_type[NAMEDATALEN];  // cut off there; types are told apart by the whole name
};

// The job type under which those of a queue are counted together for which there is no room.
inline constexpr std::string_view other_types = "(others)";

// Notes what the current transaction does to a job; it is counted when the transaction has
// committed, and not if that is rolled back, or a savepoint before it.
void note_event(int queue_id, Oid owner, std::string_view instance, std::string_view queue,
                std::string_view job_type, const core::JobEvent &event, pg::Time now);

// Calls `show` for each queue and job type, with a copy of what is counted.
void for_each_counted(
    const std::function<void(const CountedType &, const core::Statistics &)> &show);

// How often something could not be counted for want of room (hipq.max_statistics).
std::int64_t uncounted_events();

// Begins anew: for a queue, or (0) for a whole database.
void reset_statistics(Oid database, int queue_id);

extern const memory::Part statistics_part;
// Registers the commit callback; called once by _PG_init. PostgreSQL regime.
void watch_statistics();

// The memory as a file has it: file.cpp.
struct CountedEntry {
    CountedType type;
    core::StatisticsPlace place;
    core::Statistics statistics;
};
static_assert(std::is_trivially_copyable_v<CountedEntry>);

}  // namespace hipq::statistics
