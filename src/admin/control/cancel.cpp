// hipq.cancel and hipq.cancel_jobs: end a job in its row if it waits, is in `error` or belongs to
// an external worker; send a request to the executor that runs it otherwise.
#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "catalog/queue_hold.hpp"
#include "catalog/queue_statements.hpp"
#include "catalog/rights.hpp"
#include "job/batches/batch_rows.hpp"
#include "job/current_job.hpp"
#include "job/find_job.hpp"
#include "job/finish.hpp"
#include "job/graph_rows.hpp"
#include "job/two_phase.hpp"
#include "nodes/nodes.hpp"
#include "pg/arguments.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "retry/retry.hpp"
#include "shared/executors/cancellations.hpp"
#include "shared/executors/running_jobs.hpp"
#include "shared/executors/stop_control.hpp"

namespace hipq::admin {

namespace {

// A job that is being claimed, finished or resolved can be cancelled neither way for a moment, so
// it is checked again.
constexpr int most_looks_to_cancel = 50;
constexpr long pause_microseconds = 10'000;

enum class Outcome : unsigned char { cancelled, too_late, look_again };

// hipq cannot stop a program outside the server: the attempt is over, and its worker learns that
// when it next reports on it.
bool cancel_with_worker(const catalog::Queue &queue, std::int64_t id, const std::string &error)
{
    return retry::end_with_worker(queue, id, {core::Reason::cancelled, "", error}, pg::now());
}

Outcome cancel_in_its_row(const catalog::Queue &queue, std::int64_t id, const std::string &error)
{
    const job::Failure failure{core::Reason::cancelled, "", error};
    const bool is_done =
        retry::end_cancelled(queue, id, failure, pg::now()) || cancel_with_worker(queue, id, error);
    return is_done ? Outcome::cancelled : Outcome::look_again;
}

// A rollback undoes all that a block or a handler did, so their requests wait for the commit. A
// statement that is its own transaction does not wait for its commit: the job has no time to end in
// its own way. A handler that cancels its own job does not wait either, because its transaction is
// rolled back by that.
executors::AskWhen when_to_ask(std::int64_t id)
{
    const bool is_part = ::IsTransactionBlock() || ::IsSubTransaction() || job::runs_jobs();
    return is_part && !job::is_current_job(id) ? executors::AskWhen::at_commit
                                               : executors::AskWhen::now;
}

// Cancels a job that an executor may have in flight; returns nothing if no executor has begun with
// it.
std::optional<Outcome> cancel_in_flight(std::int64_t id, const std::string &error)
{
    switch (executors::ask_for_cancellation(id, error, when_to_ask(id))) {
    case executors::CancelAnswer::placed:
        job::forbid_two_phase(job::NoTwoPhase::job_taken);
        return Outcome::cancelled;
    case executors::CancelAnswer::not_in_flight:
        return std::nullopt;
    case executors::CancelAnswer::changing:
        break;
    }
    return Outcome::look_again;
}

std::string error_for(const std::optional<std::string> &reason)
{
    return reason.has_value() && !reason->empty() ? "cancelled: " + *reason : "cancelled";
}

void pause()
{
    pg::call([] {
        CHECK_FOR_INTERRUPTS();
        ::pg_usleep(pause_microseconds);
    });
}

// ---- one job ----

Outcome try_to_cancel(const job::FoundJob &job, const std::string &error)
{
    if (job.state == core::JobState::final)
        return Outcome::too_late;
    const auto outcome = cancel_in_flight(job.id, error);
    return outcome.has_value() ? *outcome : cancel_in_its_row(*job.queue, job.id, error);
}

bool cancel(std::int64_t id, const std::optional<std::string> &reason,
            const std::optional<std::string> &queue)
{
    const std::string error = error_for(reason);
    const auto catalogue = catalog::catalogue();
    Outcome outcome = Outcome::look_again;
    for (int look = 0; look < most_looks_to_cancel && outcome == Outcome::look_again; ++look) {
        if (look > 0)
            pause();
        const auto job =
            job::find_permitted_job(*catalogue, id, queue, catalog::Privilege::operate);
        if (!job.has_value())
            return nodes::call_for_job(*catalogue, {"cancel", id, {reason, queue}, queue}) ==
                   "true";
        outcome = try_to_cancel(*job, error);
    }
    return outcome == Outcome::cancelled;
}

// ---- many jobs ----

// $1 job type, $2 job key, $3 created before, $4 state, $5 ids of running jobs, whatever their rows
// say, $6 limit
constexpr const char *select_jobs_sql = R"(
    SELECT job.id
    FROM {live} AS job
    WHERE ($1 IS NULL OR job.job_type = $1) AND ($2 IS NULL OR job.job_key = $2) AND job.created_time < $3
      AND CASE
              WHEN $4 IS NULL THEN true
              WHEN $4 = 'running' THEN job.state = 'running' OR job.id = ANY ($5)
              ELSE job.state = $4::hipq.job_state AND job.id <> ALL ($5)
          END
    ORDER BY job.id
    LIMIT $6)";

constexpr const char *select_unfinished_sql =
    "SELECT job.id FROM {live} AS job WHERE job.id = ANY ($1) ORDER BY job.id";

struct Filter {
    std::optional<std::string> job_type;
    std::optional<std::string> job_key;
    std::optional<core::JobState> state;
    pg::Time created_before;
    std::int64_t most;
};

using Ids = std::vector<std::int64_t>;

Ids ids_of(const pg::Rows &rows)
{
    Ids ids;
    for (const pg::Row row : rows)
        ids.push_back(row.integer(0));
    return ids;
}

Ids running_jobs()
{
    Ids ids;
    for (const executors::RunningEntry &entry : executors::list_running_jobs())
        if (entry.database == MyDatabaseId)
            ids.push_back(entry.job.id);
    return ids;
}

Ids find_jobs(const catalog::Queue &queue, const Filter &filter)
{
    const auto state = filter.state.has_value()
                           ? std::optional(std::string(core::name(*filter.state)))
                           : std::nullopt;
    const Ids running = running_jobs();
    return pg::as_hipq([&] {
        return ids_of(catalog::statement_for(queue, select_jobs_sql)
                          .run(filter.job_type, filter.job_key, filter.created_before, state,
                               running, filter.most));
    });
}

// A job that has changed its state meanwhile is not cancelled if the filter has a state.
Outcome try_to_cancel(const catalog::Queue &queue, std::int64_t id, const Filter &filter,
                      const std::string &error)
{
    std::optional<Outcome> outcome;
    if (!filter.state.has_value() || *filter.state == core::JobState::running)
        outcome = cancel_in_flight(id, error);
    if (!outcome.has_value() && filter.state == core::JobState::running)
        return cancel_with_worker(queue, id, error) ? Outcome::cancelled : Outcome::too_late;
    return outcome.has_value() ? *outcome : cancel_in_its_row(queue, id, error);
}

// Tries each job once, and leaves the unresolved ones in `ids`. Returns the number of cancelled
// jobs.
std::int64_t go_through(const catalog::Queue &queue, Ids &ids, const Filter &filter,
                        const std::string &error)
{
    std::int64_t cancelled = 0;
    std::erase_if(ids, [&](std::int64_t id) {
        const Outcome outcome = try_to_cancel(queue, id, filter, error);
        cancelled += outcome == Outcome::cancelled ? 1 : 0;
        return outcome != Outcome::look_again;
    });
    if (!ids.empty())
        ids = pg::as_hipq(
            [&] { return ids_of(catalog::statement_for(queue, select_unfinished_sql).run(ids)); });
    return cancelled;
}

std::int64_t cancel_all(const catalog::Queue &queue, Ids ids, const Filter &filter,
                        const std::string &error)
{
    std::int64_t cancelled = 0;
    for (int looks = 1; !ids.empty(); ++looks) {
        const std::size_t before = ids.size();
        cancelled += go_through(queue, ids, filter, error);
        if (ids.size() < before)
            looks = 1;
        if (looks >= most_looks_to_cancel)
            break;
        if (!ids.empty())
            pause();
    }
    return cancelled;
}

std::optional<core::JobState> unfinished_state(const std::optional<std::string> &text)
{
    if (!text.has_value())
        return std::nullopt;
    const auto state = core::parse_job_state(*text);
    if (!state.has_value() || *state == core::JobState::final)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("no job in state \"%s\" can be cancelled", text->c_str()),
                   errhint("Unfinished jobs are in state initial, running, error or retry."));
    return state;
}

std::int64_t cancel_jobs(const pg::Arguments &arguments)
{
    const Filter filter{arguments.maybe_text("job_type"), arguments.maybe_text("job_key"),
                        unfinished_state(arguments.maybe_text("state")),
                        arguments.maybe_time("created_before").value_or(pg::infinity),
                        catalog::check_most(arguments.integer("max_jobs"))};
    const auto catalogue = catalog::catalogue();
    const catalog::Queue &queue = catalog::require_known_queue(*catalogue, arguments.text("queue"));
    catalog::require(queue, catalog::Privilege::control);
    catalog::demand_not_held(queue);
    return cancel_all(queue, find_jobs(queue, filter), filter,
                      error_for(arguments.maybe_text("reason", core::any_length)));
}

// ---- a graph ----

std::map<int, Ids> jobs_by_queue(std::int64_t graph_id)
{
    std::map<int, Ids> by_queue;
    for (const job::JobBefore &member : job::jobs_of_graph(graph_id))
        by_queue[member.queue_id].push_back(member.id);
    return by_queue;
}

// A caller who may not read the queue does not learn that the graph has jobs there.
void demand_operable(const catalog::Queue &queue, std::int64_t graph_id)
{
    if (!catalog::may(catalog::caller(), queue, catalog::Privilege::read))
        job::raise_unknown_job(graph_id);
    catalog::require(queue, catalog::Privilege::operate);
    catalog::demand_not_held(queue);
}

// Checks the rights on all queues first, because handlers that run are stopped at once. The later
// jobs first: so none fails because of an earlier one.
std::int64_t cancel_graph(std::int64_t id, const std::optional<std::string> &reason)
{
    const auto catalogue = catalog::catalogue();
    const std::map<int, Ids> by_queue = jobs_by_queue(id);
    if (by_queue.empty()) {
        (void)job::require_job(*catalogue, id, std::nullopt, catalog::Privilege::operate);
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
                   errmsg("job %lld belongs to no graph", static_cast<long long>(id)),
                   errhint("Use hipq.cancel(); hipq.enqueue_graph() makes graphs."));
    }
    for (const auto &entry : by_queue)
        if (const catalog::Queue *queue = catalogue->find(entry.first);
            queue != nullptr && !queue->is_dropped)
            demand_operable(*queue, id);
    std::int64_t cancelled = 0;
    for (const auto &entry : by_queue) {
        const Ids &ids = entry.second;
        const catalog::Queue *queue = catalogue->find(entry.first);
        if (queue == nullptr || queue->is_dropped)
            continue;
        const Ids unfinished = pg::as_hipq(
            [&] { return ids_of(catalog::statement_for(*queue, select_unfinished_sql).run(ids)); });
        cancelled += cancel_all(*queue, {unfinished.rbegin(), unfinished.rend()},
                                Filter{{}, {}, {}, pg::infinity, 0}, error_for(reason));
    }
    return cancelled;
}

// ---- a batch ----

// Jobs that the batch gets meanwhile are not cancelled: those of its running jobs, and of
// transactions that have begun to add jobs.
std::int64_t cancel_batch(std::int64_t id, const std::optional<std::string> &reason)
{
    const auto catalogue = catalog::catalogue();
    (void)job::require_batch(*catalogue, id, catalog::Privilege::operate);
    const auto queues = job::queues_of_batch(*catalogue, id);
    for (const catalog::Queue *queue : queues) {
        catalog::require(*queue, catalog::Privilege::operate);
        catalog::demand_not_held(*queue);
    }
    (void)job::close_batch(id);
    std::int64_t cancelled = 0;
    for (const catalog::Queue *queue : queues)
        cancelled += cancel_all(*queue, job::unfinished_jobs_of(*queue, id),
                                Filter{{}, {}, {}, pg::infinity, 0}, error_for(reason));
    return cancelled;
}

}  // namespace

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_cancel)
{
    const hipq::pg::Arguments arguments(fcinfo);
    return BoolGetDatum(hipq::admin::cancel(arguments.integer64("id"),
                                            arguments.maybe_text("reason", hipq::core::any_length),
                                            arguments.maybe_text("queue")));
}

HIPQ_FUNCTION(hipq_cancel_jobs)
{
    return Int64GetDatum(hipq::admin::cancel_jobs(hipq::pg::Arguments(fcinfo)));
}

HIPQ_FUNCTION(hipq_cancel_batch)
{
    const hipq::pg::Arguments arguments(fcinfo);
    return Int64GetDatum(
        hipq::admin::cancel_batch(arguments.integer64("batch"), arguments.maybe_text("reason")));
}

HIPQ_FUNCTION(hipq_cancel_graph)
{
    const hipq::pg::Arguments arguments(fcinfo);
    return Int64GetDatum(
        hipq::admin::cancel_graph(arguments.integer64("id"), arguments.maybe_text("reason")));
}
