// Drops a job type: drop_job_type.
#include "admin/queues/sharding.hpp"
#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "pg/quote.hpp"
#include "shared/executors/breaker_notes.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::admin {

namespace {

using catalog::Queue;

constinit pg::Statement
    delete_job_type("DELETE FROM hipq.job_type WHERE queue_id = $1 AND name = $2");
constinit pg::Statement
    delete_pauses("DELETE FROM hipq.pause WHERE queue_id = $1 AND job_type = $2");
constinit pg::Statement
    delete_leases("DELETE FROM hipq.rate_lease WHERE queue_id = $1 AND job_type = $2");
constinit pg::Statement
    delete_breaker("DELETE FROM hipq.breaker_state WHERE queue_id = $1 AND job_type = $2 "
                   "RETURNING change");

bool has_unfinished_jobs(const Queue &queue, const std::string &job_type)
{
    return pg::as_hipq([&] {
        return pg::run_once("SELECT EXISTS (SELECT FROM " + queue.qualified_live_table() +
                                " WHERE job_type = $1)",
                            job_type)
            .front()
            .boolean(0);
    });
}

void drop_job_type(const pg::Arguments &arguments)
{
    const auto catalogue = catalog::catalogue();
    const Queue &queue = catalog::require_own_queue(*catalogue, arguments.text("queue"));
    const std::string name = arguments.text("job_type");
    const bool force = arguments.maybe_bool("force").value_or(false);
    const std::string queue_name = queue.full_name();
    if (queue.find_job_type(name) == nullptr)
        catalog::raise_unknown_type(name, queue_name);
    if (!force && has_unfinished_jobs(queue, name))
        HIPQ_RAISE(
            errcode(ERRCODE_OBJECT_IN_USE),
            errmsg("cannot drop job type \"%s\" of queue \"%s\" because it has unfinished jobs",
                   name.c_str(), queue_name.c_str()),
            errhint("Use force => true: they will wait until the type is registered again."));
    note_places(queue);
    core::BreakerOrder closing;
    pg::as_hipq([&] {
        delete_pauses.run(queue.id, name);
        delete_leases.run(queue.id, name);
        if (queue.has_waits)
            for (const pg::Row row : delete_breaker.run(queue.id, name))
                closing.row.change = row.integer(0) + 1;
        delete_job_type.run(queue.id, name);
    });
    executors::order_breaker(
        {{MyDatabaseId, queue.id, core::name_hash(name), 0}, queue.owner, {}, closing});
    wakeup::note_resumed_key(queue.id);
    wakeup::note_catalogue_change();
    tell_of_new_places(queue);
    tell_of_shards(queue, "job type \"" + name + "\" of queue \"" + queue_name + "\"",
                   "hipq.drop_job_type(" + pg::quote_literal(queue_name) + ", " +
                       pg::quote_literal(name) + ")");
}

}  // namespace

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_drop_job_type)
{
    hipq::admin::drop_job_type(hipq::pg::Arguments(fcinfo));
    return hipq::pg::return_void();
}
