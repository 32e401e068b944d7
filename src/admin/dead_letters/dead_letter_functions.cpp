// hipq.redrive, dismiss_dead_letters, purge_dead_letters: what operators do about jobs that failed
// for good, by id or by filter.
//
// A dead letter that another session has locked (its handler, another call) is refused by id and
// skipped by filter: no caller waits for a handler.
#include "admin/dead_letters/chosen_letter.hpp"
#include "admin/dead_letters/redrive_dependents.hpp"
#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "catalog/queue_statements.hpp"
#include "catalog/rights.hpp"
#include "core/retry/redrive.hpp"
#include "core/shards/moved_key.hpp"
#include "job/dead_letter_rows.hpp"
#include "nodes/nodes.hpp"
#include "pg/arguments.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"

namespace hipq::admin {

namespace {

using catalog::Privilege;
using catalog::Queue;

using Ids = std::vector<std::int64_t>;

// ARRAY() chooses the rows once. A subquery in IN may be run again for each row, and choose others.
constinit pg::Statement
    delete_letters("DELETE FROM hipq.dead_letter WHERE queue_id = $1 AND job_id = ANY "
                   "(ARRAY(SELECT letter.job_id" HIPQ_FILTERED_LETTERS HIPQ_OLDEST_FIRST "))");

constinit pg::Statement dismiss_letters(
    "UPDATE hipq.dead_letter SET dismissed_time = $7, awaits_handler = false, handler_retry_time = "
    "NULL "
    "WHERE queue_id = $1 AND job_id = ANY (ARRAY(SELECT letter.job_id" HIPQ_FILTERED_LETTERS
        HIPQ_OLDEST_FIRST "))");

// ---- redrive ----

// Allows one call at a time in each queue, and none beside hipq.retry_jobs(), which has to see the
// jobs that this call has enqueued.
constinit pg::Statement
    lock_queue("SELECT 1 FROM hipq.queue WHERE queue_id = $1 FOR NO KEY UPDATE");

// Whether an unfinished job in the queue of the new jobs holds the key. Dead letters that stay
// because of their key do not count against the limit. $7: a column that the new jobs do not take
// along.
#define HIPQ_KEY_IS_TAKEN                                                                          \
    "(letter.job_key <> 'NONE' AND EXISTS (SELECT FROM {live} AS holder"                           \
    " WHERE holder.job_type = letter.job_type AND holder.job_key = letter.job_key"                 \
    "{+ AND holder.shard_key COLLATE \"C\" = (SELECT {shard key of job}"                           \
    " FROM jsonb_populate_record(NULL::hipq.job, letter.job - $7) AS job)+}))"

// The shard key of jobs in one queue need not be their shard key in another.
std::string left_behind(const Queue &from, const Queue &to)
{
    return core::keeps_shard_key(from.shard_key, to.shard_key) ? "" : "shard_key";
}

constexpr const char *choose_sql =
    "SELECT letter.job_id, letter.job_type" HIPQ_FILTERED_LETTERS
    " AND letter.reduced_because IS NULL AND NOT " HIPQ_KEY_IS_TAKEN HIPQ_OLDEST_FIRST;

constexpr const char *count_taken_sql =
    "SELECT count(*)" HIPQ_FILTERED_LETTERS " AND " HIPQ_KEY_IS_TAKEN;

// Makes new jobs with the values that the old ones were given, but without their expiry. $1 ids, $2
// delays in microseconds, $3 now, $4 the queue of the dead letters, $5 the queue of the new jobs:
// job_data that goes into another queue must be valid there. $6: as $7 above. Dead letters whose
// key an unfinished job holds stay.
constexpr const char *redrive_sql = R"(
    INSERT INTO {table} (original_job_id, retry_of, retry_reason, manual_reason, scheduled_run_time, max_retries, job_data{, schedule_time})" HIPQ_GIVEN_COLUMNS(
    "") R"()
    SELECT coalesce(job.original_job_id, letter.job_id), letter.job_id, 'redriven', 'redriven', $3 + slot.delay * interval '1 microsecond', job.max_retries,
           CASE WHEN $5 = $4 THEN job.job_data ELSE hipq._fitting_data($5, letter.job_type, letter.job_id, job.job_data) END{, schedule_time of job}
           )" HIPQ_GIVEN_COLUMNS("job.") R"(
    FROM unnest($1, $2) WITH ORDINALITY AS slot(job_id, delay, place)
    JOIN hipq.dead_letter AS letter ON letter.queue_id = $4 AND letter.job_id = slot.job_id
    CROSS JOIN LATERAL jsonb_populate_record(NULL::hipq.job, letter.job{+ - $6+}) AS job
    ORDER BY slot.place
    ON CONFLICT DO NOTHING
    RETURNING retry_of, id)";

// Returns the ids of the new jobs.
Ids enqueue_again(const Queue &from, const Queue &to, const Ids &letters,
                  std::optional<double> rate)
{
    const pg::Time now = pg::now();
    Ids delays;
    for (std::size_t i = 0; i < letters.size(); ++i)
        delays.push_back(core::redrive_delay(static_cast<std::int64_t>(i), rate));
    Ids redriven;
    Ids made;
    const nodes::MadeJobs elsewhere;
    const pg::Rows rows = pg::as_hipq([&] {
        return catalog::statement_for(to, redrive_sql)
            .run(letters, delays, now, from.id, to.id, left_behind(from, to));
    });
    for (const pg::Row row : rows) {
        redriven.push_back(row.integer(0));
        made.push_back(row.integer(1));
    }
    for (const nodes::MadeJob &sent : elsewhere.sent()) {
        redriven.push_back(sent.made_of);
        made.push_back(sent.id);
    }
    job::note_redriven(from, redriven, made, now);
    return made;
}

// Returns the queue of the new jobs: the same queue if none is named.
const Queue &target(const catalog::Catalogue &catalogue, const Queue &from,
                    const std::optional<std::string> &name)
{
    if (!name.has_value())
        return from;
    const Queue &to = require_controlled(catalogue, *name);
    catalog::require_to_carry(from, to);
    return to;
}

void check_type(const Queue &from, const Queue &to, const std::string &job_type)
{
    if (from.id != to.id && to.find_job_type(job_type) == nullptr)
        catalog::raise_unknown_type(job_type, to.full_name());
}

void lock_redrives(const Queue &queue)
{
    pg::as_hipq([&] { lock_queue.run(queue.id); });
}

std::int64_t redrive(std::int64_t id, const std::optional<std::string> &to_queue,
                     bool with_dependents)
{
    const auto catalogue = catalog::catalogue();
    const Queue *found = find_controlled(*catalogue, id);
    if (found == nullptr)
        return std::stoll(
            call_elsewhere(*catalogue, {"redrive", id, {to_queue}, std::nullopt, true}));
    const Queue &queue = *found;
    const Queue &to = target(*catalogue, queue, to_queue);
    lock_redrives(queue);
    const Letter letter = take_letter(queue, id);
    if (letter.state == "redriven")
        raise_wrong_state(letter, "redrive");
    if (letter.is_reduced)
        raise_reduced(letter, "redrive");
    check_type(queue, to, letter.job_type);
    const Ids made = enqueue_again(queue, to, {id}, std::nullopt);
    if (made.empty())
        HIPQ_RAISE(errcode(ERRCODE_UNIQUE_VIOLATION),
                   errmsg("job type \"%s\" has an unfinished job with key \"%s\"",
                          letter.job_type.c_str(), letter.job_key.c_str()),
                   errhint("Wait until it has finished, or cancel it."));
    if (with_dependents)
        redrive_dependents(*catalogue, {id, made.front(), to.id});
    return made.front();
}

struct Redriven {
    std::int64_t redriven;
    std::int64_t key_taken;
};

Redriven redrive_jobs(const pg::Arguments &arguments)
{
    constexpr std::array<const char *, 3> redrivable{"waiting", "handled", "dismissed"};
    const std::optional<double> rate = arguments.maybe_double("rate");
    if (rate.has_value())
        pg::demand(core::check_redrive_rate(*rate));
    const Filter filter{arguments.maybe_text("job_type"), arguments.maybe_text("reason"),
                        arguments.maybe_time("before").value_or(pg::infinity),
                        check_state(arguments.text("state"), redrivable),
                        catalog::check_most(arguments.integer("max_jobs"))};
    const auto catalogue = catalog::catalogue();
    const Queue &queue = require_controlled(*catalogue, arguments.text("queue"));
    const Queue &to = target(*catalogue, queue, arguments.maybe_text("to_queue"));
    lock_redrives(queue);
    const pg::Rows chosen = pg::as_hipq([&] {
        return catalog::statement_for(to, choose_sql)
            .run(queue.id, filter.job_type, filter.reason, filter.before, filter.state, filter.most,
                 left_behind(queue, to));
    });
    Ids letters;
    for (const pg::Row row : chosen) {
        check_type(queue, to, row.text(1));
        letters.push_back(row.integer(0));
    }
    const auto made = static_cast<std::int64_t>(enqueue_again(queue, to, letters, rate).size());
    const pg::Rows taken = pg::as_hipq([&] {
        return catalog::statement_for(to, count_taken_sql)
            .run(queue.id, filter.job_type, filter.reason, filter.before, filter.state, filter.most,
                 left_behind(queue, to));
    });
    return {made, taken.front().integer(0)};
}

// ---- dismiss ----

constinit pg::Statement dismiss_letter("UPDATE hipq.dead_letter SET dismissed_time = $3, "
                                       "awaits_handler = false, handler_retry_time = NULL WHERE "
                                       "queue_id = $1 AND job_id = $2");

void dismiss(std::int64_t id)
{
    const auto catalogue = catalog::catalogue();
    const Queue *queue = find_controlled(*catalogue, id);
    if (queue == nullptr) {
        (void)call_elsewhere(*catalogue, {"dismiss_dead_letter", id, {}, std::nullopt, true});
        return;
    }
    const Letter letter = take_letter(*queue, id);
    if (letter.state != "waiting")
        raise_wrong_state(letter, "dismiss");
    pg::as_hipq([&] { dismiss_letter.run(queue->id, id, pg::now()); });
}

std::int64_t dismiss_many(const pg::Arguments &arguments)
{
    const Filter filter{arguments.maybe_text("job_type"), arguments.maybe_text("reason"),
                        arguments.maybe_time("before").value_or(pg::infinity), "waiting",
                        catalog::check_most(arguments.integer("max_jobs"))};
    const auto catalogue = catalog::catalogue();
    const Queue &queue = require_controlled(*catalogue, arguments.text("queue"));
    return pg::as_hipq([&] {
        return static_cast<std::int64_t>(dismiss_letters
                                             .run(queue.id, filter.job_type, filter.reason,
                                                  filter.before, filter.state, filter.most,
                                                  pg::now())
                                             .processed());
    });
}

// ---- purge ----

constinit pg::Statement
    delete_letter("DELETE FROM hipq.dead_letter WHERE queue_id = $1 AND job_id = $2");

void purge(std::int64_t id)
{
    const auto catalogue = catalog::catalogue();
    const Queue *queue = find_controlled(*catalogue, id);
    if (queue == nullptr) {
        (void)call_elsewhere(*catalogue, {"purge_dead_letter", id, {}, std::nullopt, true});
        return;
    }
    take_letter(*queue, id);
    pg::as_hipq([&] { delete_letter.run(queue->id, id); });
}

std::int64_t purge_many(const pg::Arguments &arguments)
{
    constexpr std::array<const char *, 4> states{"waiting", "handled", "redriven", "dismissed"};
    const Filter filter{arguments.maybe_text("job_type"), arguments.maybe_text("reason"),
                        arguments.maybe_time("before").value_or(pg::infinity),
                        check_state(arguments.maybe_text("state"), states),
                        catalog::check_most(arguments.integer("max_jobs"))};
    const auto catalogue = catalog::catalogue();
    const Queue &queue = require_controlled(*catalogue, arguments.text("queue"));
    return pg::as_hipq([&] {
        return static_cast<std::int64_t>(delete_letters
                                             .run(queue.id, filter.job_type, filter.reason,
                                                  filter.before, filter.state, filter.most)
                                             .processed());
    });
}

}  // namespace

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_redrive)
{
    const hipq::pg::Arguments arguments(fcinfo);
    return Int64GetDatum(hipq::admin::redrive(
        arguments.integer64("id"), arguments.maybe_text("to_queue"),
        arguments.maybe_bool(hipq::pg::Argument::later("with_dependents")).value_or(false)));
}

HIPQ_FUNCTION(hipq_redrive_jobs)
{
    const hipq::admin::Redriven result = hipq::admin::redrive_jobs(hipq::pg::Arguments(fcinfo));
    return hipq::pg::return_row(fcinfo, result.redriven, result.key_taken);
}

HIPQ_FUNCTION(hipq_dismiss_dead_letter)
{
    hipq::admin::dismiss(hipq::pg::Arguments(fcinfo).integer64("id"));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq_dismiss_dead_letters)
{
    return Int64GetDatum(hipq::admin::dismiss_many(hipq::pg::Arguments(fcinfo)));
}

HIPQ_FUNCTION(hipq_purge_dead_letter)
{
    hipq::admin::purge(hipq::pg::Arguments(fcinfo).integer64("id"));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq_purge_dead_letters)
{
    return Int64GetDatum(hipq::admin::purge_many(hipq::pg::Arguments(fcinfo)));
}
