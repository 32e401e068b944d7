// The statements over hipq.dead_letter that several rooms need.
#include "dead_letter.hpp"

#include "shmem/wake.hpp"
#include "storage/permit.hpp"

namespace hipq::storage {

namespace {

// $1 id, $2 now, $3 the row, $4 reason, $5 SQLSTATE, $6 error, $7 attempt, $8 whether the queue has a handler
constinit pg::Statement insert_letter(R"(
    INSERT INTO hipq.dead_letter (job_id, died_time, queue_id, job_type, job_key, reason, sqlstate, error, job, history, awaits_handler)
    SELECT $1, $2, job.queue_id, job.job_type, job.job_key, $4, nullif($5, ''), $6,
           to_jsonb(job) || jsonb_build_object('state', 'final', 'attempt', $7, 'error', $6, 'retry_reason', $4, 'update_time', $2),
           (SELECT coalesce(jsonb_agg(jsonb_build_object('attempt', attempt.attempt, 'reason', attempt.reason, 'sqlstate', attempt.sqlstate,
                                                         'error', attempt.error, 'worker_id', attempt.worker_id,
                                                         'started_time', attempt.started_time, 'ended_time', attempt.ended_time) ORDER BY attempt.attempt), '[]')
            FROM hipq.attempt AS attempt WHERE attempt.job_id = $1),
           $8 AND NOT EXISTS (SELECT FROM hipq.made_by_handler AS made WHERE made.queue_id = job.queue_id AND made.job_id = $1)
    FROM (SELECT ($3::hipq.job).*) AS job
    ON CONFLICT (job_id) DO NOTHING)");

constinit pg::Statement update_redriven(R"(
    UPDATE hipq.dead_letter AS letter
    SET redriven_time = $3, redriven_as = made.id, awaits_handler = false
    FROM unnest($1, $2) AS made(job_id, id)
    WHERE letter.job_id = made.job_id AND letter.redriven_time IS NULL)");

// The oldest that is kept. $1 queue, $2 how many are
constinit pg::Statement select_oldest_kept(R"(
    SELECT letter.died_time, letter.job_id
    FROM hipq.dead_letter AS letter
    WHERE letter.queue_id = $1
    ORDER BY letter.died_time DESC, letter.job_id DESC
    OFFSET $2 - 1
    LIMIT 1)");

constinit pg::Statement delete_older(R"(
    DELETE FROM hipq.dead_letter
    WHERE job_id IN (
        SELECT letter.job_id
        FROM hipq.dead_letter AS letter
        WHERE letter.queue_id = $1 AND (letter.died_time, letter.job_id) < ($2, $3)
        ORDER BY letter.died_time, letter.job_id
        LIMIT $4
        FOR UPDATE SKIP LOCKED
    ))");

constinit pg::Statement select_awaiting(R"(
    SELECT EXISTS (SELECT FROM hipq.dead_letter AS letter WHERE letter.queue_id = $1 AND letter.awaits_handler))");

// $1 queue, $2 most starts, $3 what it is given up with
constinit pg::Statement begin_oldest(R"(
    UPDATE hipq.dead_letter AS letter
    SET handler_starts = letter.handler_starts + (letter.handler_starts < $2)::integer,
        awaits_handler = letter.handler_starts < $2,
        handler_error = CASE WHEN letter.handler_starts >= $2 THEN $3 END
    FROM (
        SELECT chosen.job_id
        FROM hipq.dead_letter AS chosen
        WHERE chosen.queue_id = $1 AND chosen.awaits_handler
        ORDER BY chosen.died_time, chosen.job_id
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS oldest
    WHERE letter.job_id = oldest.job_id
    RETURNING letter.job_id, letter.handler_starts, letter.awaits_handler)");

constinit pg::Statement take_begun(R"(
    SELECT )" HIPQ_CLAIMED_COLUMNS R"(
    FROM (
        SELECT letter.job AS whole
        FROM hipq.dead_letter AS letter
        WHERE letter.job_id = $1 AND letter.handler_starts = $2 AND letter.awaits_handler
        FOR UPDATE SKIP LOCKED
    ) AS taken
    CROSS JOIN LATERAL jsonb_populate_record(NULL::hipq.job, taken.whole) AS job)");

constinit pg::Statement update_handled(R"(
    UPDATE hipq.dead_letter AS letter
    SET handled_time = $2, awaits_handler = false
    WHERE letter.job_id = $1)");

constinit pg::Statement update_failed(R"(
    UPDATE hipq.dead_letter AS letter
    SET handler_error = $3, awaits_handler = false
    WHERE letter.job_id = $1 AND letter.handler_starts = $2 AND letter.awaits_handler)");

constexpr int most_starts = 3;

bool may_handle(const Queue &queue)
{
    return queue.handles_dead_letters() && !queue.pause.has_value() && !queue.instance_pause.has_value();
}

}  // namespace

void add_dead_letter(const Queue &queue, const ClaimedJob &job, const Failure &failure, pg::Time now)
{
    const std::string reason(core::name(failure.reason));
    as_hipq([&] {
        insert_letter.run(job.id, now, row_of(job), reason, failure.sqlstate, failure.error, job.attempt,
                          queue.handles_dead_letters());
    });
    if (queue.handles_dead_letters())
        shmem::note_look();
}

void note_redriven(const std::vector<std::int64_t> &job_ids, const std::vector<std::int64_t> &new_ids, pg::Time now)
{
    as_hipq([&] { update_redriven.run(job_ids, new_ids, now); });
}

std::int64_t prune_surplus_dead_letters(const Queue &queue, int limit)
{
    return as_hipq([&] {
        const pg::Rows kept = select_oldest_kept.run(queue.id, queue.dead_letter_max);
        if (kept.empty())
            return std::int64_t{0};
        const pg::Row oldest = kept.front();
        return static_cast<std::int64_t>(delete_older.run(queue.id, oldest.time(0), oldest.integer(1), limit).processed());
    });
}

bool has_dead_letters_to_handle(const Queue &queue)
{
    if (!may_handle(queue))
        return false;
    return as_hipq([&] { return select_awaiting.run(queue.id).front().boolean(0); });
}

std::optional<BegunLetter> begin_handling(const Queue &queue)
{
    if (!may_handle(queue))
        return std::nullopt;
    const std::string lost = "executor or server ended while the handler ran, " + std::to_string(most_starts) + " times";
    return as_hipq([&]() -> std::optional<BegunLetter> {
        for (;;) {
            const pg::Rows rows = begin_oldest.run(queue.id, std::int32_t{most_starts}, lost);
            if (rows.empty())
                return std::nullopt;
            const pg::Row letter = rows.front();
            if (letter.boolean(2))
                return BegunLetter{letter.integer(0), letter.integer32(1)};
        }
    });
}

std::optional<ClaimedJob> take_letter(const BegunLetter &letter)
{
    return as_hipq([&] { return first_claimed_job(take_begun.run(letter.job_id, std::int32_t{letter.start})); });
}

void note_handled(const BegunLetter &letter, pg::Time now)
{
    as_hipq([&] { update_handled.run(letter.job_id, now); });
}

void note_handler_failure(const BegunLetter &letter, std::string_view error)
{
    as_hipq([&] { update_failed.run(letter.job_id, std::int32_t{letter.start}, error); });
}

}  // namespace hipq::storage
