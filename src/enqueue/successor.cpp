// Stores the successor of the job with its key (on_duplicate => 'after'), and enqueues it later.
//
// The job is stored in its final form, with id and start values.
#include "enqueue/successor.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "enqueue/direct.hpp"
#include "job/claimed_job.hpp"
#include "job/job_row.hpp"
#include "pg/internal_write.hpp"
#include "pg/known_table.hpp"
#include "pg/transaction.hpp"

namespace hipq::enqueue {

namespace {

constexpr const char *insert_successor_sql = R"(
    INSERT INTO hipq.successor (queue_id, job_type, job_key, job_id, job{+, shard_key+})
    VALUES ($1, $2, $3, $4, to_jsonb($5){+, $6+})
    ON CONFLICT ON CONSTRAINT successor_pkey DO NOTHING)";

// Deletes the successor only if the job was inserted. $1 queue, $2 job type, $3 key, $4 its scope
constexpr const char *make_job_sql = R"(
    WITH job AS (
        SELECT entry.*
        FROM hipq.successor AS chosen
        CROSS JOIN LATERAL jsonb_populate_record(NULL::hipq.job, chosen.job) AS entry
        WHERE chosen.queue_id = $1 AND chosen.job_type = $2 AND chosen.job_key = $3{+ AND chosen.shard_key = $4+}
        FOR UPDATE OF chosen SKIP LOCKED
    ),
    made AS (
        INSERT INTO {table} ()" HIPQ_ALL_COLUMNS("") R"()
        SELECT )" HIPQ_ALL_COLUMNS("job.") R"(
        FROM job
        ON CONFLICT DO NOTHING
        RETURNING id
    )
    DELETE FROM hipq.successor AS successor USING made WHERE successor.job_id = made.id)";

Oid job_row_type()
{
    return pg::call([] {
        const pg::KnownTable *job = pg::known_table("job");
        return job == nullptr ? InvalidOid : job->row_type;
    });
}

}  // namespace

std::optional<std::int64_t> add_successor(const Newcomer &newcomer)
{
    const KnownCatalogue catalogue = catalog::catalogue();
    const job::RowValues job =
        new_job(catalogue, newcomer.queue, newcomer.options, newcomer.data, newcomer.key);
    const std::int64_t id = job.as_int64(core::Column::id);
    const pg::RawValue row = job::row_of(job, job_row_type());
    const bool is_added = pg::as_hipq([&] {
        return catalog::statement_for(newcomer.queue, insert_successor_sql)
                   .run(newcomer.queue.id, newcomer.options.type, newcomer.key, id, row,
                        newcomer.scope)
                   .processed() == 1;
    });
    return is_added ? std::optional(id) : std::nullopt;
}

bool make_successor_a_job(const catalog::Queue &queue, const core::UniqueKey &key)
{
    return pg::as_hipq([&] {
        return catalog::statement_for(queue, make_job_sql)
                   .run(queue.id, key.type, key.key, key.scope)
                   .processed() == 1;
    });
}

}  // namespace hipq::enqueue
