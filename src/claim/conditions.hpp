// The conditions between a job and its start. The scheduler decides by these predicates and
// hipq.why() shows them, so the two cannot disagree.
#pragma once

#include "catalog/cache.hpp"
#include "claim/claim.hpp"
#include "core/flow/waits.hpp"
#include "core/job/state.hpp"
#include "core/limits/finding.hpp"
#include "job/aimed_jobs.hpp"
#include "shared/lanes/holders.hpp"
#include "shared/lanes/node_share_table.hpp"
#include "shared/workers/registered.hpp"

namespace hipq::claim {

// The facts that the sentence about a finding contains. Names and pointers belong to the caller's
// catalogue or job, and must outlive the condition. Each alternative belongs to certain findings.
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
struct WaitFacts {
    std::vector<std::int64_t> jobs;  // that have not ended
    core::AfterPolicy policy;
    core::OnFailure on_failure;
    std::int64_t batch_id = 0;  // 0: none
    std::string batch{};        // what is known of it
};
struct FollowerFacts {
    std::int64_t holder;
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
    std::optional<lanes::OwnShare> share{};  // if several nodes keep the limit together
};
struct RateFacts {
    core::Rate rate;
    core::Weight used;
    core::Weight weight;  // of the job
    pg::Time turn;
    pg::Time now;
};
struct BreakerFacts {
    pg::Time since;
    pg::Time until;  // infinity: until a user closes it
    std::string cause;
    bool has_rule;  // then one job tries
    pg::Time now;
};
struct ExecutorFacts {
    int own;
    int idle;
    std::int64_t next_try = 0;  // microseconds from now
};
struct ServiceFacts {
    std::string_view job_type;
    int present;
    std::int64_t next_id;                // the worker that gets the next job
    std::vector<std::int64_t> unable{};  // workers that drain or are unhealthy
};
struct AimFacts {
    std::string_view job_type;
    job::Aim aim;
    std::vector<std::int64_t> unable{};
};
struct OfferFacts {
    std::int64_t worker_id;
    pg::Time until;
    pg::Time now;
};
using Facts = std::variant<std::monostate, const catalog::Queue *, PauseFacts, HandlerFacts,
                           core::JobState, TimeFacts, WindowFacts, ThrottleFacts, RateFacts,
                           BreakerFacts, ExecutorFacts, ServiceFacts, AimFacts, OfferFacts,
                           WaitFacts, FollowerFacts, std::int64_t, std::string>;

// The result of a condition. Conditions are evaluated for every job and lane, so the result has no
// text; explain() makes the text when a user asks.
class Condition {
public:
    Condition(core::Finding finding, Facts facts = {}) : finding_(finding), facts_(std::move(facts))
    {
    }
    core::Finding finding() const { return finding_; }
    const Facts &facts() const { return facts_; }
    core::ConditionKind kind() const { return core::definition(finding_).kind; }
    bool passed() const { return core::definition(finding_).outcome == core::Outcome::passed; }
    // The condition is closed on purpose: there is nothing to repair.
    bool is_meant() const { return core::definition(finding_).outcome == core::Outcome::meant; }

private:
    core::Finding finding_;
    Facts facts_;
};

// Returns the sentence for hipq.why(), alerts and the log.
std::string explain(const Condition &condition);

// The facts about one job that its conditions need.
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

// Whether hipq.databases contains the database. Call inside pg::call() only.
bool is_listed(const char *database);

// Conditions of the server and the database.
Condition loaded_condition();   // hipq is in shared_preload_libraries; the server is not a standby
Condition version_condition();  // the extension installed here has the library's version
Condition enabled_condition();  // hipq.enabled, hipq.databases
Condition hold_condition();     // the stored identity is that of this database
// Conditions of a queue.
Condition replica_condition(const catalog::Queue &queue);  // its jobs did not come by a
                                                           // subscription
Condition owner_condition(const catalog::Queue &queue);    // the owner exists, may log in, may
                                                           // connect
Condition queue_condition(const catalog::Queue &queue);    // the queue is not being dropped
// Conditions of a job type in a queue. A pause may also concern only the throttle key of a job.
Condition pause_condition(const catalog::Queue &queue, std::string_view job_type,
                          std::string_view throttle_key);
Condition handler_condition(const catalog::Queue &queue, std::string_view job_type);
// Conditions of a job.
Condition state_condition(const JobFacts &job);
Condition time_condition(const JobFacts &job, pg::Time now);
Condition window_condition(const JobFacts &job, pg::Time now);
Condition expiry_condition(const JobFacts &job, pg::Time now);
Condition crash_condition(
    const JobFacts &job);  // jobs that crashed the server, or may have, run one at a time
// Conditions under the throttle limits at this moment (throttle_conditions.cpp).
// capacity_condition(): no job of the queue, or of the type, waits for capacity, so the lane is
// worth a look. throttle_conditions(): one job has capacity under the limits of its queue, type and
// key.
Condition capacity_condition(const catalog::Queue &queue, std::string_view job_type);
std::vector<Condition> throttle_conditions(const catalog::Queue &queue, const JobFacts &job);
// One job has its turn under the rates of its queue and type; none for a rate that is not set.
std::vector<Condition> rate_conditions(const catalog::Queue &queue, const JobFacts &job);
// The breaker of the type lets jobs start (breakers.cpp). Nothing: the type has none.
std::optional<Condition> breaker_condition(const catalog::Queue &queue, std::string_view job_type);

// The breaker of a type, by shared memory, or by its row if no process has read it since.
struct ShownBreaker {
    core::BreakerState state = core::BreakerState::closed;
    bool has_probe = false;
    pg::Time since{0};
    pg::Time until{0};    // infinity: until a user closes it
    std::string cause{};  // "12 of 20 attempts failed"
};
ShownBreaker shown_breaker(const catalog::Queue &queue, const catalog::JobType &type);

// A change of the breaker of a type comes after those with lower numbers.
std::int64_t next_breaker_change(const core::LimiterName &name);

// An executor of the queue owner is idle, or a new one can be started.
Condition executor_condition(const catalog::Queue &queue);

// External workers
// ----------------------------------------------------------------------------------------------

// The state of the workers that serve a job type.
struct Service {
    int present = 0;                     // registered and not ended
    int able = 0;                        // of those, neither draining nor unhealthy
    std::vector<std::int64_t> unable{};  // the other present workers
    bool lacks_share = false;            // they would take more jobs than the shares of their roles
                                         // allow
    std::int64_t next_id = 0;            // the worker that gets the next job; 0: none
};
Service service_of(int queue_id, std::string_view job_type);

// Returns the present workers among these that have the name, or whose number is the text. Several
// roles may have a worker of the same name.
std::vector<workers::WorkerRef> workers_named(std::span<const workers::WorkerRef> workers,
                                              std::string_view name);
// If the text is the number of a worker of this database, returns that worker's name; else the
// text.
std::string name_meant_by(const std::string &worker);

// Whether external workers run the jobs of a type: its handler is `notify`, or it has no handler
// and workers serve the type. Needs a transaction.
bool runs_outside(const catalog::Queue &queue, const catalog::JobType &type);

// Nothing: no worker is offered the job.
std::optional<Condition> offer_condition(std::int64_t job_id, pg::Time now);
// Needs a transaction.
Condition worker_condition(const catalog::Queue &queue, std::string_view job_type);
// The same for a job that is for one worker only.
Condition worker_condition(const catalog::Queue &queue, std::string_view job_type,
                           const job::Aim &aim);

}  // namespace hipq::claim
