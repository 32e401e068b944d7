// Sets up here what the router has, and tells shards of what is set up anew.
#include "shards/set_up.hpp"

#include "catalog/catalog.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"

namespace hipq::shards {

namespace {

constinit pg::Statement apply("SELECT count(*) FROM hipq.apply($1)");

constinit pg::Statement select_ended_pauses(R"(
    SELECT here.pause ->> 'queue', here.pause ->> 'job_type', here.pause ->> 'throttle_key', here.pause ->> 'instance'
    FROM pg_catalog.jsonb_array_elements(hipq._set_up_of($1) -> 'pauses') AS here (pause)
    WHERE NOT EXISTS (
        SELECT
        FROM pg_catalog.jsonb_array_elements($2 -> 'pauses') AS there (pause)
        WHERE here.pause - 'reason' @> there.pause - 'reason' AND here.pause - 'reason' <@ there.pause - 'reason'))");

constinit pg::Statement
    resume("SELECT hipq.resume(queue => $1, job_type => $2, throttle_key => $3, instance => $4)");

constinit pg::Statement select_sharded(R"(
    SELECT DISTINCT instance.name
    FROM hipq.shard AS shard
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE NOT hipq._is_held())");

constinit pg::Statement send_to_all("SELECT hipq._send_set_up($1)");
constinit pg::Statement send_to_one("SELECT hipq._send_set_up($1, $2)");

// Whole, as this transaction sees it. So those who set up wait for each other: a letter that lacks
// what another transaction is just about to commit would undo that on the shards.
void tell_shards()
{
    pg::as_hipq([] {
        const pg::Rows instances = select_sharded.run();
        if (!instances.empty())
            catalog::lock_set_up_of_shards();
        for (const pg::Row row : instances)
            send_to_all.run_latest(row.text(0));
    });
}

}  // namespace

void take_set_up(const std::string &instance, pg::RawValue set_up)
{
    pg::as_extension_owner([&] {
        apply.run(set_up);
        for (const pg::Row row : select_ended_pauses.run(instance, set_up))
            resume.run(row.maybe_text(0), row.maybe_text(1), row.maybe_text(2), row.maybe_text(3));
    });
}

void send_set_up(const std::string &instance, int node)
{
    send_to_one.run(instance, node);
}

}  // namespace hipq::shards

// The trigger on hipq.queue, hipq.job_type and hipq.pause: shards are told before any job that
// needs what is new.
HIPQ_FUNCTION(hipq__tell_shards)
{
    if (!CALLED_AS_TRIGGER(fcinfo))
        HIPQ_RAISE(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
                   errmsg("hipq._tell_shards() is a trigger"));
    hipq::shards::tell_shards();
    return Datum{0};
}
