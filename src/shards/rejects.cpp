// Keeps what this node could not take, and tells the sender.
#include "shards/rejects.hpp"

#include "core/shards/ids.hpp"
#include "pg/internal_write.hpp"
#include "pg/short_text.hpp"

extern "C" {
#include "access/detoast.h"
}

namespace hipq::shards {

namespace {

// $9: the values that the job shares with others of its letter.
constinit pg::Statement insert_own_reject(R"(
    WITH kept AS (
        INSERT INTO hipq.shard_reject (instance, sender, node, outbox_id, queue, job_id, sqlstate, error, job)
        VALUES ($1, $2, $3, $4, nullif($5, ''), CASE WHEN $6 ->> 'id' ~ '^[0-9]{1,18}$' THEN ($6 ->> 'id')::bigint END, $7, $8,
                CASE WHEN jsonb_typeof($6) = 'object' AND jsonb_typeof($9) = 'object' THEN $9 || $6 ELSE coalesce($6, 'null') END)
        RETURNING shard_reject.*
    )
    INSERT INTO hipq.shard_outbox (instance, sender, node, kind, body)
    SELECT $1, $3, $2, 'rejected', to_jsonb(kept)
    FROM kept
    WHERE kept.sender <> kept.node)");

// $7 and $8: its jobs and its body.
constinit pg::Statement insert_refused_letter(R"(
    WITH kept AS (
        INSERT INTO hipq.shard_reject (instance, sender, node, outbox_id, sqlstate, error, job)
        VALUES ($1, $2, $3, $4, $5, $6, jsonb_strip_nulls(jsonb_build_object('kind', $9::text, 'queue', $10::text)) ||
                CASE WHEN $7 IS NULL THEN '{}' ELSE jsonb_build_object('jobs', to_jsonb($7)) END ||
                CASE WHEN $8 IS NULL THEN '{}' ELSE jsonb_build_object('body', $8) END)
        RETURNING shard_reject.*
    )
    INSERT INTO hipq.shard_outbox (instance, sender, node, kind, body)
    SELECT $1, $3, $2, 'rejected', to_jsonb(kept)
    FROM kept
    WHERE $9 <> 'rejected')");

// A larger value does not fit into one value with the rest of its row.
constexpr Size most_kept = Size{64} << 20;  // bytes

bool is_too_large(pg::RawValue value)
{
    return !value.null && pg::call([&] { return ::toast_raw_datum_size(value.value); }) > most_kept;
}

pg::RawValue nothing_of(pg::RawValue value)
{
    return {value.type, Datum{0}, true};
}

void keep(const Letter &letter, pg::RawValue job, const std::string &sqlstate,
          const std::string &message)
{
    const bool is_left_out = is_too_large(job);
    const bool is_shared = letter.kind == "jobs" && !is_left_out && !is_too_large(letter.body);
    const std::string error =
        pg::short_text(message + (is_left_out ? " (it is too large to be kept here)" : ""));
    pg::as_hipq([&] {
        insert_own_reject.run(letter.instance, static_cast<std::int16_t>(letter.sender),
                              static_cast<std::int16_t>(letter.node), letter.id, letter.queue,
                              is_left_out ? nothing_of(job) : job, sqlstate, error,
                              is_shared ? letter.body : pg::RawValue{JSONBOID, Datum{0}, true});
    });
}

}  // namespace

void forget_resent(const Letter &letter)
{
    static constinit pg::Statement delete_resent(R"(
        DELETE FROM hipq.shard_reject AS reject
        USING jsonb_array_elements_text(CASE WHEN jsonb_typeof($3 -> 'resent') = 'array' THEN $3 -> 'resent' ELSE '[]' END) AS resent (id)
        WHERE reject.instance = $1 AND reject.queue = $2
          AND reject.job_id = CASE WHEN resent.id ~ '^[0-9]{1,18}$' THEN resent.id::bigint END)");
    if (letter.sender == core::router_node && !letter.body.null)
        pg::as_hipq([&] { delete_resent.run(letter.instance, letter.queue, letter.body); });
}

void reject(const Letter &letter, pg::RawValue job, const pg::Error &error)
{
    keep(letter, job, error.sqlstate(), error.message());
}

void reject_duplicate(const Letter &letter, pg::RawValue job)
{
    keep(letter, job, "23505", "an unfinished job has its key");
}

void refuse(const Letter &letter, const OwnLine &line, const std::string &sqlstate,
            const std::string &message)
{
    const bool is_left_out = is_too_large(letter.jobs) || is_too_large(letter.body);
    const std::string error = pg::short_text("letter \"" + pg::short_text(letter.kind, 100) +
                                             "\" is refused: " + message);
    pg::as_hipq([&] {
        insert_refused_letter.run(line.instance, static_cast<std::int16_t>(line.sender),
                                  static_cast<std::int16_t>(line.own_node), letter.id, sqlstate,
                                  error, is_left_out ? nothing_of(letter.jobs) : letter.jobs,
                                  is_left_out ? nothing_of(letter.body) : letter.body,
                                  pg::short_text(letter.kind), pg::short_text(letter.queue));
    });
}

}  // namespace hipq::shards
