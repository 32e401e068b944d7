// hipq.wait_for: waits until a job is final.
//
// The transaction that ends the job wakes it. It looks at the tables once at the beginning, when it
// is woken, and from time to time.
#include "catalog/cache.hpp"
#include "catalog/rights.hpp"
#include "job/current_job.hpp"
#include "job/find_job.hpp"
#include "job/job_status.hpp"
#include "nodes/nodes.hpp"
#include "pg/arguments.hpp"
#include "pg/replicated.hpp"
#include "pg/transaction.hpp"
#include "shared/memory/registry.hpp"
#include "shared/wakeup/completion_waiters.hpp"

namespace hipq::monitor {

namespace {

using job::JobStatus;

constexpr std::int64_t microsecond_look = 10'000'000;  // looks without being woken after this time
constexpr std::int64_t microsecond_look_untold =
    1'000'000;  // the same if there is no room to be woken

// ---- refusals ----

void demand_a_server_that_runs_jobs()
{
    if (!memory::is_loaded())
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("cannot wait for a job: nothing runs on this server"),
                   errhint("Add hipq to shared_preload_libraries and restart the server."));
    if (::RecoveryInProgress())
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("cannot wait for a job during recovery"),
                   errhint("Jobs run on the primary: wait there."));
}

// A snapshot taken at the transaction's start would show the job's old state forever.
void demand_fresh_snapshots()
{
    if (IsolationUsesXactSnapshot())
        HIPQ_RAISE(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
                   errmsg("cannot wait for a job in a transaction of isolation level %s",
                          XactIsoLevel == XACT_SERIALIZABLE ? "SERIALIZABLE" : "REPEATABLE READ"),
                   errdetail("Its snapshot cannot see the end of the job."),
                   errhint("Wait in a transaction of isolation level READ COMMITTED."));
}

void refuse_own(std::int64_t id)
{
    HIPQ_RAISE(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
               errmsg("cannot wait for job %lld in the transaction that has enqueued or changed it",
                      static_cast<long long>(id)),
               errdetail("The job cannot run before the transaction has committed."),
               errhint("Commit first, then wait."));
}

void refuse_current(std::int64_t id)
{
    if (job::is_current_job(id))
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("job %lld cannot wait for its own end", static_cast<long long>(id)));
}

// ---- waiting ----

// Returns the time limit; nothing means no limit.
std::optional<TimestampTz> end_of(const std::optional<std::int64_t> &timeout)
{
    constexpr std::int64_t century = 36'525 * USECS_PER_DAY;
    if (!timeout.has_value() || *timeout > century)
        return std::nullopt;
    if (*timeout < 0)
        HIPQ_RAISE(
            errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("timeout cannot be negative"),
            errhint("Give a duration, 0 for a look, or NULL to wait for as long as it takes."));
    return ::GetCurrentTimestamp() + *timeout;
}

// Keeps this process in the list of processes to wake while the object exists.
class Awaiting {
public:
    explicit Awaiting(std::int64_t id) : is_told_(wakeup::await_end(id)) {}
    ~Awaiting() { wakeup::stop_awaiting(); }
    Awaiting(const Awaiting &) = delete;
    Awaiting &operator=(const Awaiting &) = delete;

    // Waits until woken, or until it is time for the next look.
    void wait(std::optional<TimestampTz> end) const
    {
        const TimestampTz next_look =
            ::GetCurrentTimestamp() + (is_told_ ? microsecond_look : microsecond_look_untold);
        const TimestampTz latest = std::min(next_look, end.value_or(next_look));
        while (!wakeup::was_told()) {
            const std::int64_t left = latest - ::GetCurrentTimestamp();
            if (left <= 0)
                return;
            pg::call([&] {
                (void)::WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
                                  static_cast<long>((left + 999) / 1000), PG_WAIT_EXTENSION);
                ::ResetLatch(MyLatch);
                CHECK_FOR_INTERRUPTS();
            });
        }
    }

private:
    bool is_told_;
};

constexpr pg::RawValue no_result{JSONBOID, Datum{0}, true};

// Uses the current map, not the one from the beginning of the wait.
bool is_elsewhere(const catalog::Queue &queue, std::int64_t id)
{
    if (queue.shards == nullptr)
        return false;
    const auto catalogue = catalog::catalogue();
    const catalog::Queue *present = catalogue->find(queue.id);
    return present != nullptr && nodes::destination(*present, id).has_value();
}

// Returns the status of a job that was there. If its queue keeps no successes and the job is gone,
// it succeeded. Returns nothing if it followed its slot to another node.
std::optional<JobStatus> look(const catalog::Catalogue &catalogue, const catalog::Queue &queue,
                              std::int64_t id)
{
    if (auto standing = job::job_status_of(queue, id))
        return standing;
    if (is_elsewhere(queue, id))
        return std::nullopt;
    if (queue.keeps_successes)
        job::require_job(catalogue, id, std::nullopt, catalog::Privilege::read);
    return JobStatus{true, "succeeded", no_result, "NONE", false};
}

void pause(long milliseconds)
{
    pg::call([&] {
        (void)::WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, milliseconds,
                          PG_WAIT_EXTENSION);
        ::ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
    });
}

// Flushes asynchronous commits of others to disk, and waits for synchronous standbys as this
// session's synchronous_commit says. Returns false if that takes too long.
bool became_safe(std::optional<TimestampTz> end)
{
    constexpr long standby_look = 10;  // ms
    const XLogRecPtr written = job::make_commits_durable();
    while (!pg::call([&] { return pg::is_replicated(written); })) {
        if (end.has_value() && ::GetCurrentTimestamp() >= *end)
            return false;
        pause(standby_look);
    }
    return true;
}

bool is_over(std::optional<TimestampTz> end)
{
    return end.has_value() && ::GetCurrentTimestamp() >= *end;
}

// The right to read may be revoked during the wait.
void demand_right_still_there(int queue_id, std::int64_t id)
{
    const auto catalogue = catalog::catalogue();
    const catalog::Queue *queue = catalogue->find(queue_id);
    if (queue == nullptr)
        job::raise_unknown_job(id);
    catalog::require(*queue, catalog::Privilege::read);
}

// Waits for a job that was on this node. Returns nothing if it no longer is.
std::optional<JobStatus> wait_here(const catalog::Catalogue &catalogue, const catalog::Queue &queue,
                                   std::int64_t id, std::optional<TimestampTz> end)
{
    refuse_current(id);
    const Awaiting awaiting(id);  // before the first look, so that no end is missed
    for (;;) {
        auto standing = look(catalogue, queue, id);
        if (!standing.has_value())
            return std::nullopt;
        if (standing->is_own)
            refuse_own(id);
        demand_right_still_there(queue.id, id);
        if (standing->is_final && queue.commits_in_groups && !became_safe(end))
            return JobStatus{false, "running", no_result, "NONE", false};
        if (standing->is_final || is_over(end))
            return standing;
        awaiting.wait(end);
    }
}

// ---- on another node ----

constexpr std::int64_t longest_turn = 5'000'000;  // us; that node does not notice a lost caller
constexpr long held_look = 100;                   // ms

constinit pg::Statement read_status(R"(
    SELECT $1 ->> 'outcome', CASE WHEN jsonb_typeof($1 -> 'result') <> 'null' THEN $1 -> 'result' END, coalesce($1 ->> 'error', 'NONE'))");

JobStatus status_in(const std::string &answer)
{
    const pg::RawValue json = nodes::json_of(answer);
    const pg::Row row = pg::as_extension_owner([&] { return read_status.run(json).front(); });
    const std::string outcome = row.text(0);
    const bool is_final = outcome != "waiting" && outcome != "running";
    return {is_final, outcome, row.raw(1), row.text(2), false};
}

// Returns how long the other node waits this time.
std::string next_turn(std::optional<TimestampTz> end)
{
    const std::int64_t left =
        end.has_value() ? std::max<std::int64_t>(*end - ::GetCurrentTimestamp(), 0) : longest_turn;
    return std::to_string(std::min(left, longest_turn) / 1000) + " milliseconds";
}

// Calls the node that has the job again and again, because the job may move on meanwhile.
JobStatus wait_elsewhere(const catalog::Catalogue &catalogue, std::int64_t id,
                         std::optional<TimestampTz> end,
                         const std::optional<std::string> &queue_name)
{
    for (;;) {
        const nodes::Call call{"wait_for", id, {next_turn(end), queue_name}, queue_name};
        const nodes::Found found = nodes::search(catalogue, call);
        const bool is_held = found.place == nodes::Place::held;
        const auto answer = is_held ? std::nullopt : nodes::require_certain(call, found);
        if (!is_held && !answer.has_value())
            job::raise_unknown_job(id);
        JobStatus status =
            is_held ? JobStatus{false, "waiting", no_result, "NONE", false} : status_in(*answer);
        if (status.is_final || is_over(end))
            return status;
        if (is_held)
            pause(held_look);
    }
}

JobStatus wait_for(std::int64_t id, std::optional<TimestampTz> end,
                   const std::optional<std::string> &queue_name)
{
    const auto catalogue = catalog::catalogue();
    const auto job = job::find_permitted_job(*catalogue, id, queue_name, catalog::Privilege::read);
    if (job.has_value())
        if (const auto status = wait_here(*catalogue, *job->queue, id, end))
            return *status;
    return wait_elsewhere(*catalogue, id, end, queue_name);
}

Datum wait_for(FunctionCallInfo fcinfo)
{
    const pg::Arguments arguments(fcinfo);
    const std::int64_t id = arguments.integer64("id");
    const auto end = end_of(arguments.maybe_duration("timeout"));
    demand_a_server_that_runs_jobs();
    demand_fresh_snapshots();
    const JobStatus standing = wait_for(id, end, arguments.maybe_text("queue"));
    return pg::return_row(fcinfo, standing.outcome, standing.result,
                          core::unless_none(standing.error));
}

}  // namespace

}  // namespace hipq::monitor

HIPQ_FUNCTION(hipq_wait_for)
{
    return hipq::monitor::wait_for(fcinfo);
}
