// Keeps jobs that this node could not take, and tells who sent them.
#include "shards/rejects.hpp"

#include "pg/internal_write.hpp"

namespace hipq::shards {

namespace {

// $9: what the job shares with others of its letter.
constinit pg::Statement insert_own_reject(R"(
    WITH kept AS (
        INSERT INTO hipq.shard_reject (instance, sender, node, outbox_id, queue, job_id, sqlstate, error, job)
        VALUES ($1, $2, $3, $4, $5, CASE WHEN jsonb_typeof($6 -> 'id') = 'number' THEN ($6 ->> 'id')::bigint END, $7, $8,
                CASE WHEN jsonb_typeof($6) = 'object' THEN coalesce($9, '{}') || $6 ELSE $6 END)
        RETURNING shard_reject.*
    )
    INSERT INTO hipq.shard_outbox (instance, sender, node, kind, body)
    SELECT $1, $3, $2, 'rejected', to_jsonb(kept)
    FROM kept
    WHERE kept.sender <> kept.node)");

void keep(const Letter &letter, pg::RawValue job, const std::string &sqlstate,
          const std::string &message)
{
    pg::as_hipq([&] {
        insert_own_reject.run(
            letter.instance, static_cast<std::int16_t>(letter.sender),
            static_cast<std::int16_t>(letter.node), letter.id, letter.queue, job, sqlstate, message,
            letter.kind == "jobs" ? letter.body : pg::RawValue{JSONBOID, Datum{0}, true});
    });
}

}  // namespace

void reject(const Letter &letter, pg::RawValue job, const pg::Error &error)
{
    keep(letter, job, error.sqlstate(), error.message());
}

void reject_duplicate(const Letter &letter, pg::RawValue job)
{
    keep(letter, job, "23505", "an unfinished job has its key");
}

}  // namespace hipq::shards
