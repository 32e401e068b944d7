// Statistics of jobs for the whole server: in shared memory, and in a file while the server is
// down.
//
// They have a lock of their own, which is taken once for each transaction that ends attempts.
#pragma once

#include "core/statistics/statistics.hpp"
#include "pg/spi.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::statistics {

// The queue and job type that an entry counts. It has the queue's name too, so that other databases
// can show it.
struct CountedType {
    Oid database;
    Oid owner;  // of the queue
    int queue_id;
    char queue[2 * NAMEDATALEN + 2];
    char job_type[NAMEDATALEN];  // truncated; the key distinguishes types by the whole name
};

// The job type that counts all types of a queue for which there is no room.
inline constexpr std::string_view other_types = "(others)";

// Notes an event of a job in the current transaction. It is counted when the transaction commits,
// and forgotten when the transaction or its savepoint is rolled back.
void note_event(int queue_id, Oid owner, std::string_view instance, std::string_view queue,
                std::string_view job_type, const core::JobEvent &event, pg::Time now);

// Calls `show` for each queue and job type, with a copy of its counters.
void for_each_counted(
    const std::function<void(const CountedType &, const core::Statistics &)> &show);

// How many events were not counted because the table was full (hipq.max_statistics).
std::int64_t uncounted_events();

// Resets the counters of a queue, or of a whole database (queue_id 0).
void reset_statistics(Oid database, int queue_id);

extern const memory::Part statistics_part;
// Registers the commit callback. _PG_init calls it once; call inside pg::call() only.
void watch_statistics();

// An entry as the file stores it; see file.cpp.
struct CountedEntry {
    CountedType type;
    core::StatisticsPlace place;
    core::Statistics statistics;
};
static_assert(std::is_trivially_copyable_v<CountedEntry>);

}  // namespace hipq::statistics
