// Writes and reads rows of hipq.dead_letter.
#include "job/dead_letter_rows.hpp"

#include "catalog/rights.hpp"
#include "core/job/columns.hpp"
#include "job/claimed_job.hpp"
#include "pg/error_classes.hpp"
#include "pg/internal_write.hpp"
#include "pg/subtransaction.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::job {

namespace {

// The part that a whole and a reduced letter have in common. $1 id, $2 now, $3 the row, $4 reason,
// $5 SQLSTATE, $6 error, $7 attempt
#define HIPQ_LETTER_AS_IT_DIED                                                                     \
    "jsonb_build_object('state', 'final', 'attempt', $7, 'error', $6, 'retry_reason', $4, "        \
    "'update_time', $2)"

constinit pg::Statement find_queue("SELECT letter.queue_id FROM hipq.dead_letter AS letter WHERE "
                                   "letter.queue_id = ANY ($1) AND letter.job_id = $2");

// $8 whether the queue has a handler, $9 and $10 how many of the first and last attempts to keep
constinit pg::Statement insert_letter(R"(
    INSERT INTO hipq.dead_letter (job_id, died_time, queue_id, job_type, job_key, reason, sqlstate, error, job, history, attempts_left_out,
                                  awaits_handler)
    SELECT $1, $2, job.queue_id, job.job_type, job.job_key, $4, nullif($5, ''), $6, to_jsonb(job) || )" HIPQ_LETTER_AS_IT_DIED
                                      R"(,
           past.history, past.left_out,
           $8 AND NOT EXISTS (SELECT FROM hipq.made_by_handler AS made WHERE made.queue_id = job.queue_id AND made.job_id = $1)
    FROM (SELECT ($3::hipq.job).*) AS job
    CROSS JOIN LATERAL (
        SELECT coalesce(jsonb_agg(jsonb_build_object('attempt', attempt.attempt, 'reason', attempt.reason, 'sqlstate', attempt.sqlstate,
                                                     'error', attempt.error, 'worker_id', attempt.worker_id,
                                                     'started_time', attempt.started_time, 'ended_time', attempt.ended_time) ORDER BY attempt.place), '[]') AS history,
               coalesce(max(attempt.count), 0) - count(*) AS left_out
        FROM (
            SELECT entry.*, row_number() OVER (ORDER BY entry.attempt, entry.ended_time) AS place, count(*) OVER () AS count
            FROM hipq.attempt AS entry
            WHERE entry.queue_id = job.queue_id AND entry.job_id = $1
        ) AS attempt
        WHERE attempt.place <= $9 OR attempt.place > attempt.count - $10
    ) AS past
    ON CONFLICT (queue_id, job_id) DO NOTHING)");

// $8 why the letter is reduced. It contains nothing that can be large or deeply nested.
constinit pg::Statement insert_reduced_letter(R"(
    INSERT INTO hipq.dead_letter (job_id, died_time, queue_id, job_type, job_key, reason, sqlstate, error, job, reduced_because)
    SELECT $1, $2, job.queue_id, job.job_type, job.job_key, $4, nullif($5, ''), $6, to_jsonb(job) || )" HIPQ_LETTER_AS_IT_DIED
                                              R"(, $8
    FROM (
        SELECT whole.queue_id, whole.worker_id, whole.deadline, whole.max_retries)" HIPQ_OWN_COLUMNS(
                                                  "whole.") HIPQ_GIVEN_COLUMNS("whole.") R"(
        FROM (SELECT ($3::hipq.job).*) AS whole
    ) AS job
    ON CONFLICT (queue_id, job_id) DO NOTHING)");

// $1 queue
constinit pg::Statement update_redriven(R"(
    UPDATE hipq.dead_letter AS letter
    SET redriven_time = $4, redriven_as = made.id, awaits_handler = false, handler_retry_time = NULL
    FROM unnest($2, $3) AS made(job_id, id)
    WHERE letter.queue_id = $1 AND letter.job_id = made.job_id AND letter.redriven_time IS NULL)");

// The oldest letter that is kept. $1 queue, $2 how many are kept
constinit pg::Statement select_oldest_kept(R"(
    SELECT letter.died_time, letter.job_id
    FROM hipq.dead_letter AS letter
    WHERE letter.queue_id = $1
    ORDER BY letter.died_time DESC, letter.job_id DESC
    OFFSET $2 - 1
    LIMIT 1)");

constinit pg::Statement delete_older(R"(
    DELETE FROM hipq.dead_letter
    WHERE queue_id = $1 AND job_id = ANY (ARRAY(
        SELECT letter.job_id
        FROM hipq.dead_letter AS letter
        WHERE letter.queue_id = $1 AND (letter.died_time, letter.job_id) < ($2, $3)
        ORDER BY letter.died_time, letter.job_id
        LIMIT $4
        FOR UPDATE SKIP LOCKED
    )))");

// A start of the handler on the letter could not be counted; see src/job/set_aside.cpp.
#define HIPQ_LETTER_IS_SET_ASIDE                                                                   \
    "EXISTS (SELECT FROM hipq.set_aside AS aside WHERE aside.job_id = letter.job_id AND "          \
    "aside.state = 'final')"

// Whether any letter awaits the handler, whether one of them is not set aside, and the time of the
// next retry.
constinit pg::Statement select_awaiting(R"(
    SELECT EXISTS (SELECT FROM hipq.dead_letter AS letter WHERE letter.queue_id = $1 AND letter.awaits_handler),
           EXISTS (SELECT FROM hipq.dead_letter AS letter
                   WHERE letter.queue_id = $1 AND letter.awaits_handler AND NOT )" HIPQ_LETTER_IS_SET_ASIDE
                                        R"(),
           coalesce((SELECT min(letter.handler_retry_time) FROM hipq.dead_letter AS letter
                     WHERE letter.queue_id = $1 AND letter.handler_retry_time IS NOT NULL), 'infinity'))");

// $1 queue, $2 now, $3 limit. Skips locked letters instead of waiting for them.
constinit pg::Statement update_retried(R"(
    UPDATE hipq.dead_letter AS letter
    SET awaits_handler = letter.state = 'waiting', handler_retry_time = NULL
    WHERE letter.queue_id = $1 AND letter.job_id = ANY (ARRAY(
        SELECT due.job_id
        FROM hipq.dead_letter AS due
        WHERE due.queue_id = $1 AND due.handler_retry_time <= $2
        ORDER BY due.handler_retry_time
        LIMIT $3
        FOR UPDATE SKIP LOCKED)))");

// $1 queue
constinit pg::Statement update_waiting(R"(
    UPDATE hipq.dead_letter AS letter
    SET awaits_handler = true
    WHERE letter.queue_id = $1 AND letter.job_id = ANY (ARRAY(
        SELECT left_over.job_id
        FROM hipq.dead_letter AS left_over
        WHERE left_over.queue_id = $1 AND left_over.state = 'waiting' AND NOT left_over.awaits_handler
          AND left_over.handler_error IS NULL AND left_over.reduced_because IS NULL
          AND NOT EXISTS (SELECT FROM hipq.made_by_handler AS made WHERE made.queue_id = $1 AND made.job_id = left_over.job_id)
        FOR UPDATE SKIP LOCKED)))");

// In the order in which jobs start: the lowest priority first, then the oldest.
constinit pg::Statement lock_next(R"(
    SELECT letter.job_id
    FROM hipq.dead_letter AS letter
    WHERE letter.queue_id = $1 AND letter.awaits_handler AND NOT )" HIPQ_LETTER_IS_SET_ASIDE R"(
    ORDER BY (letter.job ->> 'priority')::integer, letter.died_time, letter.job_id
    LIMIT 1
    FOR UPDATE OF letter SKIP LOCKED)");

// $1 queue, $2 id, $3 maximum of starts, $4 the error if the handler is given up
constinit pg::Statement begin_letter(R"(
    UPDATE hipq.dead_letter AS letter
    SET handler_starts = letter.handler_starts + present.may_start::integer,
        awaits_handler = present.may_start,
        handler_error = CASE WHEN present.may_start THEN letter.handler_error ELSE $4 END
    FROM (
        SELECT known.handler_starts < $3 + known.handler_retries AS may_start
        FROM hipq.dead_letter AS known
        WHERE known.queue_id = $1 AND known.job_id = $2
    ) AS present
    WHERE letter.queue_id = $1 AND letter.job_id = $2
    RETURNING letter.handler_starts, letter.awaits_handler, letter.handler_retries)");

constinit pg::Statement take_begun(R"(
    SELECT job::hipq.job
    FROM (
        SELECT letter.job AS whole
        FROM hipq.dead_letter AS letter
        WHERE letter.queue_id = $1 AND letter.job_id = $2 AND letter.handler_starts = $3 AND letter.awaits_handler
        FOR UPDATE SKIP LOCKED
    ) AS taken
    CROSS JOIN LATERAL jsonb_populate_record(NULL::hipq.job, taken.whole) AS job)");

constinit pg::Statement update_handled(R"(
    UPDATE hipq.dead_letter AS letter
    SET handled_time = $3, awaits_handler = false, handler_error = NULL
    WHERE letter.queue_id = $1 AND letter.job_id = $2)");

constinit pg::Statement update_failed(R"(
    UPDATE hipq.dead_letter AS letter
    SET handler_error = $4, awaits_handler = false, handler_retry_time = $5,
        handler_retries = letter.handler_retries + ($5 IS NOT NULL)::integer
    WHERE letter.queue_id = $1 AND letter.job_id = $2 AND letter.handler_starts = $3 AND letter.awaits_handler)");

constexpr int most_starts = 3;

// Tables of 0.2.0 have no column for the retries of a handler: dead letters wait for the update of
// the extension.
constinit pg::Statement select_retries_column(
    "SELECT 1 FROM pg_attribute WHERE attrelid = 'hipq.dead_letter'::regclass "
    "AND attname = 'handler_retries'");

bool counts_handler_retries()
{
    static bool known = false;
    known = known || pg::as_hipq([] { return !select_retries_column.run_latest().empty(); });
    return known;
}

bool may_handle(const catalog::Queue &queue)
{
    return queue.handles_dead_letters() && !queue.pause.has_value() &&
           !queue.instance_pause.has_value() && counts_handler_retries();
}

}  // namespace

namespace {

void add_whole_letter(const catalog::Queue &queue, const ClaimedJob &job, const Failure &failure,
                      pg::Time now)
{
    const std::string_view reason = core::name(failure.reason);
    pg::as_hipq([&] {
        insert_letter.run(job.id, now, row_of(job), reason, failure.sqlstate, failure.error,
                          job.attempt, queue.handles_dead_letters(), core::first_attempts_kept,
                          core::last_attempts_kept);
    });
    if (queue.handles_dead_letters())
        wakeup::note_look();
}

void add_reduced_letter(const ClaimedJob &job, const Failure &failure, pg::Time now,
                        const pg::Error &trouble)
{
    const std::string_view reason = core::name(failure.reason);
    const std::string why = pg::short_message(trouble);
    pg::as_hipq([&] {
        insert_reduced_letter.run(job.id, now, row_of(job), reason, failure.sqlstate, failure.error,
                                  job.attempt, why);
    });
    pg::call([&] {
        ereport(WARNING, errcode(trouble.sqlerrcode()),
                errmsg("dead letter of job %lld is without job_data, result and history: %s",
                       static_cast<long long>(job.id), why.c_str()),
                errhint("hipq.retry() enqueues the job again while its final row is kept."));
    });
}

}  // namespace

bool leaves_dead_letter(const catalog::Queue &queue, core::Reason reason)
{
    return queue.dead_letter_enabled && !core::is_unwanted(reason);
}

void add_dead_letter(const catalog::Queue &queue, const ClaimedJob &job, const Failure &failure,
                     pg::Time now)
{
    const auto trouble = pg::in_subtransaction(pg::Ending::kept,
                                               [&] { add_whole_letter(queue, job, failure, now); });
    if (!trouble.has_value())
        return;
    if (!pg::is_fault_of_job(*trouble))
        throw *trouble;  // NOLINT(cert-err60-cpp): as it came
    add_reduced_letter(job, failure, now, *trouble);
}

std::vector<std::int64_t> queue_ids(const catalog::Catalogue &catalogue)
{
    std::vector<std::int64_t> ids;
    for (const auto &entry : catalogue.queues)
        ids.push_back(entry.first);
    return ids;
}

const catalog::Queue *find_queue_of_letter(const catalog::Catalogue &catalogue, std::int64_t id)
{
    const pg::Rows rows = pg::as_hipq([&] { return find_queue.run(queue_ids(catalogue), id); });
    const catalog::Queue *queue =
        rows.empty() ? nullptr : catalogue.find(rows.front().integer32(0));
    const bool may_know =
        queue != nullptr && !queue->is_dropped && catalog::has_any_right(catalog::caller(), *queue);
    return may_know ? queue : nullptr;
}

void note_redriven(const catalog::Queue &queue, const std::vector<std::int64_t> &job_ids,
                   const std::vector<std::int64_t> &new_ids, pg::Time now)
{
    pg::as_hipq([&] { update_redriven.run(queue.id, job_ids, new_ids, now); });
}

std::int64_t prune_surplus_dead_letters(const catalog::Queue &queue, int limit)
{
    return pg::as_hipq([&] {
        const pg::Rows kept = select_oldest_kept.run(queue.id, queue.dead_letter_max);
        if (kept.empty())
            return std::int64_t{0};
        const pg::Row oldest = kept.front();
        return static_cast<std::int64_t>(
            delete_older.run(queue.id, oldest.time(0), oldest.integer(1), limit).processed());
    });
}

namespace {

AwaitingLetters look_for_letters(const catalog::Queue &queue)
{
    const pg::Rows rows = pg::as_hipq([&] { return select_awaiting.run(queue.id); });
    const pg::Row row = rows.front();
    return {row.boolean(0), row.boolean(1), row.time(2)};
}

}  // namespace

AwaitingLetters letters_to_handle(const catalog::Queue &queue, pg::Time now)
{
    constexpr std::int64_t retried_at_once = 1'000;
    if (!may_handle(queue))
        return {};
    const AwaitingLetters letters = look_for_letters(queue);
    if (letters.next_retry > now)
        return letters;
    // An error that one of them causes will be raised again when its handler is called.
    (void)pg::in_subtransaction(pg::Ending::kept, [&] {
        pg::as_hipq([&] { update_retried.run(queue.id, now, retried_at_once); });
    });
    return look_for_letters(queue);
}

void await_handler(const catalog::Queue &queue)
{
    pg::as_hipq([&] { update_waiting.run(queue.id); });
    wakeup::note_look();
}

std::optional<BegunLetter> begin_handling(const catalog::Queue &queue, std::int64_t &chosen)
{
    if (!may_handle(queue))
        return std::nullopt;
    const std::string lost =
        "executor or server ended while the handler ran, " + std::to_string(most_starts) + " times";
    return pg::as_hipq([&]() -> std::optional<BegunLetter> {
        for (;;) {
            const pg::Rows next = lock_next.run(queue.id);
            if (next.empty())
                return std::nullopt;
            chosen = next.front().integer(0);
            for (const pg::Row letter :
                 begin_letter.run(queue.id, chosen, std::int32_t{most_starts}, lost))
                if (letter.boolean(1))
                    return BegunLetter{queue.id, chosen, letter.integer32(0), letter.integer32(2)};
        }
    });
}

std::optional<ClaimedJob> take_letter(const BegunLetter &letter)
{
    return pg::as_hipq([&] {
        return first_claimed_job(take_begun.run(std::int32_t{letter.queue_id}, letter.job_id,
                                                std::int32_t{letter.start}));
    });
}

void note_handled(const BegunLetter &letter, pg::Time now)
{
    pg::as_hipq([&] { update_handled.run(std::int32_t{letter.queue_id}, letter.job_id, now); });
}

void note_handler_failure(const BegunLetter &letter, const HandlerFailure &failure, pg::Time now)
{
    const bool is_retried =
        core::is_passing(failure.sqlstate) && letter.retries < core::most_handler_retries;
    const std::optional<pg::Time> retry_time =
        is_retried ? std::optional(now + core::handler_delay(letter.retries)) : std::nullopt;
    pg::as_hipq([&] {
        update_failed.run(std::int32_t{letter.queue_id}, letter.job_id, std::int32_t{letter.start},
                          pg::short_text(failure.error), retry_time);
    });
    if (is_retried)
        wakeup::note_look();
}

}  // namespace hipq::job
