// What stands between a job and its start. The scheduler decides by these predicates, and
// hipq.why() shows them: they cannot drift apart.
#pragma once

#include "catalog/catalog.hpp"
#include "core/job/state.hpp"

namespace hipq::limits {

struct Condition {
    const char *name;
    bool passed;
    std::string explanation;  // a sentence
    // Closed because somebody wants it so, by a limit that is used up, or for a moment: nothing
    // that has to be mended.
    bool is_meant = false;
};

// What a condition of one job asks about.
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
Condition loaded_condition();   // hipq is in shared_preload_libraries; the server is no standby
Condition version_condition();  // the extension installed here is the library's
Condition enabled_condition();  // hipq.enabled, hipq.databases
Condition hold_condition();     // the identity is this database's
// Of a queue.
Condition owner_condition(const catalog::Queue &queue);  // exists, may log in, may connect
Condition queue_condition(const catalog::Queue &queue);  // not being dropped
// Of a job type in a queue; and of a job in it, whose throttle key may be paused alone.
Condition pause_condition(const catalog::Queue &queue, std::string_view job_type,
                          std::string_view throttle_key);
Condition handler_condition(const catalog::Queue &queue, std::string_view job_type);
// Of a job.
Condition state_condition(const WaitingJob &job);
Condition time_condition(const WaitingJob &job, pg::Time now);
Condition window_condition(const WaitingJob &job, pg::Time now);
Condition expiry_condition(const WaitingJob &job, pg::Time now);
Condition crash_condition(
    const WaitingJob &job);  // jobs that crashed the server, or may have, run one at a time
// Of the moment, under the throttle limits (throttle_conditions.cpp): no job of the queue, or of
// the type, waits for capacity; so those of a lane are looked at. And, of one job: there is
// capacity for it under the limits of its queue, type and key.
Condition capacity_condition(const catalog::Queue &queue, std::string_view job_type);
std::vector<Condition> throttle_conditions(const catalog::Queue &queue, const WaitingJob &job);
// An executor of the queue owner has no job, or one can be started.
Condition executor_condition(const catalog::Queue &queue);

}  // namespace hipq::limits
