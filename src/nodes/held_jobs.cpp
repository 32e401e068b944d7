// Holds jobs until the node that had their slot reports that no job with their key, or in strict
// order no job of the slot, is left there.
#include "nodes/nodes.hpp"

#include "catalog/cache.hpp"
#include "core/job/validate.hpp"
#include "core/shards/ids.hpp"
#include "job/job_row.hpp"
#include "pg/internal_write.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::nodes {

namespace {

using core::Column;

// A key is identified by queue, type and key, and by its scope unless that is the whole queue. If
// there is no row for the slot, all its jobs have come. The scheduler looks at held jobs:
// "returned" may have arrived before this commits. In strict order, jobs queue up behind held jobs
// of their slot.
constinit pg::Statement insert_held(R"(
    INSERT INTO hipq.shard_held_job (instance_id, slot, queue, job_type, job_key, job, sender, outbox_id, was_accepted, shard_key)
    SELECT coming.instance_id, coming.slot, $3, $4, $5, $6, $7, $8, $9, $10
    FROM hipq.shard_coming AS coming
    WHERE coming.instance_id = $1 AND coming.slot = $2
      AND CASE
              WHEN $3 = ANY (coming.in_order) THEN
                  coming.busy_keys IS NULL OR coming.busy_keys @> jsonb_build_array(jsonb_build_object('queue', $3))
                  OR EXISTS (
                      SELECT
                      FROM hipq.shard_held_job AS held
                      WHERE held.instance_id = $1 AND held.slot = $2 AND held.queue = $3)
              ELSE
                  coming.busy_keys IS NULL
                  OR jsonb_build_array($3, $4, $5) || CASE WHEN $10 <> 'NONE' THEN jsonb_build_array($10) ELSE '[]' END
                     IN (SELECT busy.name FROM jsonb_array_elements(coming.busy_keys) AS busy (name))
          END)");

int slot_of(const job::RowValues &job)
{
    const auto parts = core::decompose_id(job.as_int64(Column::id));
    return parts.has_value() ? parts->slot : core::router_slot;
}

// The shard key was set when the job was placed.
std::string_view scope_of(const catalog::Queue &queue, const job::RowValues &job)
{
    return job.null(Column::shard_key)
               ? core::none_text
               : core::key_scope(queue.unique_scope, job.as_text(Column::shard_key));
}

}  // namespace

bool may_be_busy(const catalog::Queue &queue, const job::RowValues &job)
{
    if (queue.comes_in_order(job.as_int64(Column::id)))
        return true;
    return queue.shards != nullptr && !job.null(Column::job_key) &&
           job.as_text(Column::job_key) != core::none_text &&
           queue.shards->coming.test(static_cast<std::size_t>(slot_of(job)));
}

bool hold(const catalog::Queue &queue, const job::RowValues &job, pg::RawValue json,
          const Origin &origin)
{
    const bool is_held = pg::as_hipq([&] {
        return insert_held
                   .run(queue.instance_id, static_cast<std::int16_t>(slot_of(job)), queue.name,
                        job.as_text(Column::job_type), job.as_text(Column::job_key), json,
                        static_cast<std::int16_t>(origin.node), origin.outbox_id,
                        origin.was_accepted, scope_of(queue, job))
                   .processed() > 0;
    });
    if (is_held)
        wakeup::note_catalogue_change();
    return is_held;
}

}  // namespace hipq::nodes
