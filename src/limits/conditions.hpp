// What stands between a job and its start. The scheduler decides by these predicates, and
// hipq.why() shows them: they cannot drift apart.
#pragma once

#include "catalog/catalog.hpp"
#include "core/job/state.hpp"

namespace hipq::limits {

struct Gate {
    const char *name;
    bool passed;
    std::string explanation;  // a sentence
    // Closed because somebody wants it so, by a limit that is used up, or for a moment: nothing
    // that has to be mended.
    bool is_meant = false;
};

// What a gate of one job asks about.
struct WaitingJob {
    std::int64_t id;
    core::JobState state;
    std::string job_type;
    pg::Time due;
    pg::Time expires;
    std::string time_windows;
    std::string time_zone;  // of its type
    std::string throttle_key;
    core::Weight weight;
};

// Whether hipq.databases names a database. PostgreSQL regime.
bool is_listed(const char *database);

// Of the server and the database.
Gate loaded_gate();   // hipq is in shared_preload_libraries; the server is no standby
Gate version_gate();  // the extension installed here is the library's
Gate enabled_gate();  // hipq.enabled, hipq.databases
Gate hold_gate();     // the identity is this database's
// Of a queue.
Gate owner_gate(const catalog::Queue &queue);  // exists, may log in, may connect
Gate queue_gate(const catalog::Queue &queue);  // not being dropped
// Of a job type in a queue; and of a job in it, whose throttle key may be paused alone.
Gate pause_gate(const catalog::Queue &queue, std::string_view job_type,
                std::string_view throttle_key);
Gate handler_gate(const catalog::Queue &queue, std::string_view job_type);
// Of a job.
Gate state_gate(const WaitingJob &job);
Gate time_gate(const WaitingJob &job, pg::Time now);
Gate window_gate(const WaitingJob &job, pg::Time now);
Gate expiry_gate(const WaitingJob &job, pg::Time now);
Gate crash_gate(
    const WaitingJob &job);  // jobs that crashed the server, or may have, run one at a time
// Of the moment, under the throttle limits (throttle_conditions.cpp): no job of the queue, or of
// the type, waits for room; so those of a line are looked at. And, of one job: there is room for it
// under the limits of its queue, type and key.
Gate room_gate(const catalog::Queue &queue, std::string_view job_type);
std::vector<Gate> throttle_gates(const catalog::Queue &queue, const WaitingJob &job);
// An executor of the queue owner has no job, or one can be started.
Gate executor_gate(const catalog::Queue &queue);

}  // namespace hipq::limits
