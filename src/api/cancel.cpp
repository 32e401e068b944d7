// hipq.cancel and hipq.cancel_jobs: end a job that waits, stands in `error` or is an external worker's in its row, a running one
// of the server's by a request to the executor that has it in hand.
#include "api/arguments.hpp"
#include "api/checks.hpp"
#include "pg/clock.hpp"
#include "settings.hpp"
#include "shmem/hands.hpp"
#include "shmem/watch.hpp"
#include "storage/find_job.hpp"
#include "storage/permit.hpp"
#include "storage/queue_statements.hpp"
#include "storage/settle.hpp"

namespace hipq::api {

namespace {

// A job that is being claimed, finished or settled can be cancelled neither way for a moment: then it is looked at again.
constexpr int most_looks = 50;
constexpr long pause_microseconds = 10'000;

enum class Outcome : unsigned char { cancelled, too_late, look_again, no_room };

// Nobody can stop a program outside the server: the attempt is over, and its worker learns that when it says something of it.
bool cancel_with_worker(const storage::Queue &queue, std::int64_t id, const std::string &error)
{
    return storage::end_with_worker(queue, id, {core::Reason::cancelled, "", error}, pg::now());
}

Outcome cancel_in_its_row(const storage::Queue &queue, std::int64_t id, const std::string &error)
{
    const storage::Failure failure{core::Reason::cancelled, "", error};
    const bool is_done = storage::end_cancelled(queue, id, failure, pg::now()) || cancel_with_worker(queue, id, error);
    return is_done ? Outcome::cancelled : Outcome::look_again;
}

// Of a job that an executor may have in hand; nothing: none has begun with it.
std::optional<Outcome> cancel_in_hand(std::int64_t id, const std::string &error)
{
    const auto answer =
        shmem::is_loaded() ? shmem::request_cancellation(MyDatabaseId, id, error) : shmem::CancelAnswer::not_in_hand;
    switch (answer) {
    case shmem::CancelAnswer::placed:
        return Outcome::cancelled;
    case shmem::CancelAnswer::not_in_hand:
        return std::nullopt;
    case shmem::CancelAnswer::no_room:
        return Outcome::no_room;
    case shmem::CancelAnswer::changing:
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

Outcome try_to_cancel(const storage::FoundJob &job, const std::string &error)
{
    if (job.state == core::JobState::final)
        return Outcome::too_late;
    const auto outcome = cancel_in_hand(job.id, error);
    return outcome.has_value() ? *outcome : cancel_in_its_row(*job.queue, job.id, error);
}

[[noreturn]] void raise_no_room(std::int64_t id)
{
    HIPQ_RAISE(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
               errmsg("job %lld was not cancelled: too many running jobs are being cancelled", static_cast<long long>(id)),
               errhint("Try again when the first of them have ended."));
}

bool cancel(std::int64_t id, const std::optional<std::string> &reason, const std::optional<std::string> &queue)
{
    const std::string error = error_for(reason);
    const auto catalogue = storage::catalogue();
    storage::FoundJob job = storage::require_job(*catalogue, id, queue, storage::Privilege::control);
    Outcome outcome = try_to_cancel(job, error);
    for (int look = 1; look < most_looks && (outcome == Outcome::look_again || outcome == Outcome::no_room); ++look) {
        pause();
        job = storage::require_job(*catalogue, id, queue, storage::Privilege::control);
        outcome = try_to_cancel(job, error);
    }
    if (outcome == Outcome::no_room)
        raise_no_room(id);
    return outcome == Outcome::cancelled;
}

// ---- many jobs ----

// $1 job type, $2 job key, $3 created before, $4 state, $5 ids of those that run, whatever their rows say, $6 limit
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

constexpr const char *select_unfinished_sql = "SELECT job.id FROM {live} AS job WHERE job.id = ANY ($1) ORDER BY job.id";

// For executors to end their jobs, when all room for requests is taken: as long as the most stubborn handler is given, and more.
constexpr std::int64_t patience_with_executors = 5'000'000;

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
    for (const shmem::RunningEntry &entry : shmem::list_running_jobs())
        if (entry.database == MyDatabaseId)
            ids.push_back(entry.job.id);
    return ids;
}

Ids find_jobs(const storage::Queue &queue, const Filter &filter)
{
    const auto state = filter.state.has_value() ? std::optional(std::string(core::name(*filter.state))) : std::nullopt;
    const Ids running = running_jobs();
    return storage::as_hipq([&] {
        return ids_of(storage::statement_for(queue, select_jobs_sql)
                          .run(filter.job_type, filter.job_key, filter.created_before, state, running, filter.most));
    });
}

// A job that has changed its state since stays, if a state was asked for.
Outcome try_to_cancel(const storage::Queue &queue, std::int64_t id, const Filter &filter, const std::string &error)
{
    std::optional<Outcome> outcome;
    if (!filter.state.has_value() || *filter.state == core::JobState::running)
        outcome = cancel_in_hand(id, error);
    if (!outcome.has_value() && filter.state == core::JobState::running)
        return cancel_with_worker(queue, id, error) ? Outcome::cancelled : Outcome::too_late;
    return outcome.has_value() ? *outcome : cancel_in_its_row(queue, id, error);
}

struct Round {
    std::int64_t cancelled = 0;
    bool has_no_room = false;
};

// Tries each job once and leaves those of which nothing is settled.
Round go_through(const storage::Queue &queue, Ids &ids, const Filter &filter, const std::string &error)
{
    Round round;
    std::erase_if(ids, [&](std::int64_t id) {
        const Outcome outcome = try_to_cancel(queue, id, filter, error);
        round.cancelled += outcome == Outcome::cancelled ? 1 : 0;
        round.has_no_room = round.has_no_room || outcome == Outcome::no_room;
        return outcome == Outcome::cancelled || outcome == Outcome::too_late;
    });
    if (!ids.empty())
        ids = storage::as_hipq([&] { return ids_of(storage::statement_for(queue, select_unfinished_sql).run(ids)); });
    return round;
}

void warn_of_rest(std::size_t count)
{
    pg::call([&] {
        ereport(WARNING, errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
                errmsg("%zu jobs were not cancelled: too many running jobs are being cancelled", count),
                errhint("Cancel the rest when the first of them have ended."));
    });
}

// Waits for executors as long as one after the other makes room for a request.
std::int64_t cancel_all(const storage::Queue &queue, Ids ids, const Filter &filter, const std::string &error)
{
    const std::int64_t patience = std::int64_t{settings::terminate_grace} * 1'000 + patience_with_executors;
    std::int64_t cancelled = 0;
    for (int looks = 1; !ids.empty(); ++looks) {
        const std::size_t before = ids.size();
        const Round round = go_through(queue, ids, filter, error);
        cancelled += round.cancelled;
        if (ids.size() < before)
            looks = 1;
        const std::int64_t most = round.has_no_room ? patience / pause_microseconds : most_looks;
        if (looks >= most && round.has_no_room)
            warn_of_rest(ids.size());
        if (looks >= most)
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
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("no job in state \"%s\" can be cancelled", text->c_str()),
                   errhint("Unfinished jobs are in state initial, running, error or retry."));
    return state;
}

std::int64_t cancel_jobs(const Arguments &arguments)
{
    const Filter filter{arguments.maybe_text(1), arguments.maybe_text(2), unfinished_state(arguments.maybe_text(3)),
                        arguments.maybe_time(4).value_or(pg::infinity), check_most(arguments.integer(6, "max_jobs"))};
    const auto catalogue = storage::catalogue();
    const storage::Queue &queue = storage::require_known_queue(*catalogue, arguments.text(0, "queue"));
    storage::require(queue, storage::Privilege::control);
    return cancel_all(queue, find_jobs(queue, filter), filter, error_for(arguments.maybe_text(5)));
}

}  // namespace

}  // namespace hipq::api

HIPQ_FUNCTION(hipq_cancel)
{
    const hipq::api::Arguments arguments(fcinfo);
    return BoolGetDatum(hipq::api::cancel(arguments.integer64(0, "id"), arguments.maybe_text(1), arguments.maybe_text(2)));
}

HIPQ_FUNCTION(hipq_cancel_jobs)
{
    return Int64GetDatum(hipq::api::cancel_jobs(hipq::api::Arguments(fcinfo)));
}
