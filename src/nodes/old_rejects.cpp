// Prunes hipq.shard_reject.
#include "nodes/nodes.hpp"

#include "pg/internal_write.hpp"
#include "settings.hpp"

namespace hipq::nodes {

namespace {

// $1: rows since this time are kept, $2 now, $3 retention and $4 dead_letter_retention if the queue
// has none or does not exist here, $5 limit. Letters that were refused have no queue.
constinit pg::Statement delete_rejects(R"(
    DELETE FROM hipq.shard_reject
    WHERE ctid = ANY (ARRAY(
        SELECT reject.ctid
        FROM hipq.shard_reject AS reject
        LEFT JOIN (hipq.queue JOIN hipq.instance USING (instance_id)) ON instance.name = reject.instance AND queue.name = reject.queue
        WHERE reject.rejected_time < $1
          AND reject.rejected_time <= $2 - CASE
                  WHEN reject.sqlstate = '23505' AND reject.queue IS NOT NULL THEN coalesce(queue.retention, make_interval(secs => $3))
                  ELSE coalesce(queue.dead_letter_retention, make_interval(secs => $4))
              END
        ORDER BY reject.rejected_time
        LIMIT $5
        FOR UPDATE OF reject SKIP LOCKED)))");

}  // namespace

void prune_rejects(pg::Time needed_since, int limit)
{
    pg::as_hipq([&] {
        delete_rejects.run(needed_since, pg::now(), settings::retention.seconds,
                           settings::dead_letter_retention.seconds, limit);
    });
}

}  // namespace hipq::nodes
