// Functions that need no superuser: slot_of, the published hash, and resend_rejects.
#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "catalog/rights.hpp"
#include "core/shards/ids.hpp"
#include "core/shards/letters.hpp"
#include "core/shards/slots.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "pg/json_array.hpp"
#include "shards/arrived_jobs.hpp"
#include "shards/receive.hpp"
#include "shards/remote.hpp"

#include <set>

namespace hipq::shards {

namespace {

using catalog::Privilege;
using catalog::Queue;

// $1 instance, $2 queue, $3 SQLSTATE, $4 whether only jobs with ids $5, $6 limit. The shard learns
// that they are no longer rejects before it gets them, because it may reject them again. A job that
// was too large is not in its reject.
constinit pg::Statement take_rejects(R"(
    WITH chosen AS MATERIALIZED (
        SELECT reject.ctid
        FROM hipq.shard_reject AS reject
        WHERE reject.instance = $1 AND reject.queue = $2 AND reject.job_id IS NOT NULL AND jsonb_typeof(reject.job) = 'object'
          AND (NOT $4 OR reject.job_id = ANY ($5))
          AND CASE WHEN $3 IS NULL THEN $4 OR reject.sqlstate <> '23505' ELSE reject.sqlstate = $3 END
        ORDER BY reject.sender, reject.outbox_id, reject.job_id
        LIMIT $6
        FOR UPDATE SKIP LOCKED
    ),
    taken AS (
        DELETE FROM hipq.shard_reject AS reject
        WHERE reject.ctid = ANY (ARRAY(SELECT chosen.ctid FROM chosen))
        RETURNING reject.sender, reject.node, reject.outbox_id, reject.job_id, reject.job
    ),
    told AS (
        INSERT INTO hipq.shard_outbox (instance, sender, node, kind, queue, jobs, body)
        SELECT $1, 0, shard.node, 'jobs', $2, '{}', jsonb_build_object('resent', jsonb_agg(taken.job_id))
        FROM taken
        JOIN (hipq.shard JOIN hipq.instance USING (instance_id)) ON instance.name = $1 AND shard.node IN (taken.sender, taken.node)
        GROUP BY shard.node
    )
    SELECT taken.sender, taken.node, taken.outbox_id, taken.job_id, taken.job
    FROM taken
    ORDER BY taken.sender, taken.outbox_id, taken.job_id)");

// Each job was on the router, whether it came from a shard or went to one: so the router has all
// rejects.
void demand_router(const Queue &queue)
{
    const int own_node = queue.shards == nullptr ? core::router_node : queue.shards->own_node;
    if (queue.shards != nullptr && own_node == core::router_node)
        return;
    if (queue.shards == nullptr)
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("instance \"%s\" has no shards", queue.instance.c_str()));
    const std::string router = router_of(queue.instance_id);
    HIPQ_RAISE(
        errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
        errmsg("rejects of instance \"%s\" are sent again by its router", queue.instance.c_str()),
        errdetail("This server is shard %d of it.", own_node),
        errhint("Call the function on %s.", router.c_str()));
}

// Makes a letter of the node that the job came from. A shard may have said anything about a job
// that it has rejected, but it must not report on jobs that never leave the router.
Letter letter_like(const pg::Row &row, const Queue &queue)
{
    Letter letter{};
    letter.id = row.integer(2);
    letter.instance = queue.instance;
    letter.sender =
        core::may_send_job(row.integer32(1), row.integer(3)) ? row.integer32(0) : row.integer32(1);
    letter.node = core::router_node;
    letter.kind = "jobs";
    letter.queue = queue.name;
    letter.body = {JSONBOID, Datum{0}, true};
    return letter;
}

// Returns their ids.
std::set<std::int64_t> send_again(const pg::Rows &rejects, const Queue &queue)
{
    std::set<std::int64_t> sent;
    std::vector<pg::RawValue> jobs;
    std::optional<Letter> letter;
    const auto send = [&] {
        if (jobs.empty())
            return;
        letter->jobs = pg::array_of(jobs);
        take_jobs(*letter);
        jobs.clear();
    };
    for (const pg::Row row : rejects) {
        Letter next = letter_like(row, queue);
        if (!letter.has_value() || letter->id != next.id || letter->sender != next.sender) {
            send();
            letter = std::move(next);
        }
        if (sent.insert(row.integer(3)).second)
            jobs.push_back(row.raw(4));
    }
    send();
    return sent;
}

std::int64_t resend(const pg::Arguments &arguments)
{
    const auto catalogue = catalog::catalogue();
    const Queue &queue = catalog::require_known_queue(*catalogue, arguments.text("queue"));
    catalog::require(queue, Privilege::control);
    catalog::require(queue, Privilege::enqueue);
    const auto sqlstate = arguments.maybe_text("sqlstate");
    const bool are_named = arguments.has("ids");
    const auto ids = are_named ? arguments.integers64("ids") : std::vector<std::int64_t>{};
    const std::int64_t most = catalog::check_most(arguments.integer("max_jobs"));
    demand_router(queue);
    const pg::Rows rejects = pg::as_hipq([&] {
        return take_rejects.run(queue.instance, queue.name, sqlstate, are_named, ids,
                                are_named ? std::numeric_limits<std::int64_t>::max() : most);
    });
    const std::set<std::int64_t> sent = send_again(rejects, queue);
    const std::string name = queue.full_name();
    for (const std::int64_t id : ids)
        if (!sent.contains(id))
            HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
                       errmsg("queue \"%s\" has no reject of job %lld that can be sent again",
                              name.c_str(), static_cast<long long>(id)),
                       errdetail("There is none, another session is sending it, or the job was too "
                                 "large to be kept."),
                       errhint("View hipq.shard_rejects shows those that there are."));
    return static_cast<std::int64_t>(sent.size());
}

}  // namespace

}  // namespace hipq::shards

HIPQ_FUNCTION(hipq_slot_of)
{
    return hipq::pg::return_int(hipq::core::slot_of(hipq::pg::Arguments(fcinfo).text({0, "key"})));
}

HIPQ_FUNCTION(hipq_resend_rejects)
{
    return Int64GetDatum(hipq::shards::resend(hipq::pg::Arguments(fcinfo)));
}
