// What stands between a job and its start. The scheduler decides by these predicates, and
// hipq.why() shows them: they cannot drift apart.
#pragma once

#include "catalog/cache.hpp"
#include "claim/claim.hpp"
#include "core/job/state.hpp"
#include "core/limits/finding.hpp"
#include "job/aimed_jobs.hpp"
#include "shared/lanes/holders.hpp"
#include "shared/lanes/node_share_table.hpp"
#include "shared/workers/registered.hpp"

namespace hipq::claim {

// What the sentence about a finding needs besides. Names and pointers are the caller's: they belong
// to the catalogue that was asked, or to the job. Each alternative goes with findings of its own.
struct PauseFacts {
    const catalog::Queue *queue;
    const catalog::Pause *pause;
    std::string_view name{};  // of the job type or throttle key
};
struct HandlerFacts {
    std::string_view job_type;
    std::string_view handler{};
    std::string problem{};
};
struct TimeFacts {
    pg::Time time;
    pg::Time now;
};
struct WindowFacts {
    std::string windows;
    std::string time_zone;
    StartWindow window;
    pg::Time now;
};
struct ThrottleFacts {
    lanes::Usage usage;
    core::Weight limit;
    core::Weight weight;  // of the job
    std::string key{};
    std::optional<lanes::OwnShare> share{};  // of a limit that several nodes keep together
};
struct ExecutorFacts {
    int own;
    int idle;
    std::int64_t next_try = 0;  // microseconds from now
};
struct ServiceFacts {
    std::string_view job_type;
    int present;
    std::int64_t next_id;                // the worker that is given the next job
    std::vector<std::int64_t> unable{};  // those that drain or are unhealthy
};
struct AimFacts {
    std::string_view job_type;
    job::Aim aim;
    std::vector<std::int64_t> unable{};
};
using Facts = std::variant<std::monostate, const catalog::Queue *, PauseFacts, HandlerFacts,
                           core::JobState, TimeFacts, WindowFacts, ThrottleFacts, ExecutorFacts,
                           ServiceFacts, AimFacts, std::int64_t, std::string>;

// A condition as it was found. It is asked of every job and lane, so it has no text: explain()
// makes that for who looks.
class Condition {
public:
    Condition(core::Finding finding, Facts facts = {}) : finding_(finding), facts_(std::move(facts))
    {
    }
    core::Finding finding() const { return finding_; }
    const Facts &facts() const { return facts_; }
    core::ConditionKind kind() const { return core::definition(finding_).kind; }
    bool passed() const { return core::definition(finding_).outcome == core::Outcome::passed; }
    // Closed, and nothing has to be mended.
    bool is_meant() const { return core::definition(finding_).outcome == core::Outcome::meant; }

private:
    core::Finding finding_;
    Facts facts_;
};

// The sentence that hipq.why(), alerts and the log have about it.
std::string explain(const Condition &condition);

// What a condition of one job asks about.
struct JobFacts {
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
Condition replica_condition(const catalog::Queue &queue);  // no subscription has brought its jobs
Condition owner_condition(const catalog::Queue &queue);    // exists, may log in, may connect
Condition queue_condition(const catalog::Queue &queue);    // not being dropped
// Of a job type in a queue; and of a job in it, whose throttle key may be paused alone.
Condition pause_condition(const catalog::Queue &queue, std::string_view job_type,
                          std::string_view throttle_key);
Condition handler_condition(const catalog::Queue &queue, std::string_view job_type);
// Of a job.
Condition state_condition(const JobFacts &job);
Condition time_condition(const JobFacts &job, pg::Time now);
Condition window_condition(const JobFacts &job, pg::Time now);
Condition expiry_condition(const JobFacts &job, pg::Time now);
Condition crash_condition(
    const JobFacts &job);  // jobs that crashed the server, or may have, run one at a time
// Of the moment, under the throttle limits (throttle_conditions.cpp): no job of the queue, or of
// the type, waits for capacity; so those of a lane are looked at. And, of one job: there is
// capacity for it under the limits of its queue, type and key.
Condition capacity_condition(const catalog::Queue &queue, std::string_view job_type);
std::vector<Condition> throttle_conditions(const catalog::Queue &queue, const JobFacts &job);
// An executor of the queue owner has no job, or one can be started.
Condition executor_condition(const catalog::Queue &queue);

// External workers
// ----------------------------------------------------------------------------------------------

// How those fare that serve a job type.
struct Service {
    int present = 0;                     // registered and not ended
    int able = 0;                        // of those, neither draining nor unhealthy
    std::vector<std::int64_t> unable{};  // the others
    bool lacks_share = false;            // they would take more jobs than their roles may have
    std::int64_t next_id = 0;            // who is given the next one; 0: nobody
};
Service service_of(int queue_id, std::string_view job_type);

// Of these workers those that are there under a name, or with the number that the text is; several
// roles may have one each.
std::vector<workers::WorkerRef> workers_named(std::span<const workers::WorkerRef> workers,
                                              std::string_view name);
// The name of the worker of this database with the number that the text is; else the text.
std::string name_meant_by(const std::string &worker);

// Whether external workers run jobs of a type: its handler is `notify`, or it has none and workers
// name it. Needs a transaction.
bool runs_outside(const catalog::Queue &queue, const catalog::JobType &type);

// Needs a transaction.
Condition worker_condition(const catalog::Queue &queue, std::string_view job_type);
// The same for a job that is for one worker alone.
Condition worker_condition(const catalog::Queue &queue, std::string_view job_type,
                           const job::Aim &aim);

}  // namespace hipq::claim
