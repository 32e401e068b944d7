// Drops a queue (drop_queue): marks it for the scheduler to drop, or drops it if no scheduler will.
//
// Holds a lock on the queue's name until its transaction ends.
#include "admin/admin.hpp"
#include "admin/queues/grants.hpp"
#include "admin/queues/many_locks.hpp"
#include "admin/queues/sharding.hpp"
#include "admin/schedules/cron_entries.hpp"
#include "admin/schedules/restore_schedules.hpp"
#include "admin/schedules/schedule_rows.hpp"
#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "catalog/identity.hpp"
#include "catalog/name_lock.hpp"
#include "core/text/names.hpp"
#include "job/batches/batch_rows.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "pg/quote.hpp"
#include "shared/memory/registry.hpp"
#include "shared/wakeup/commit.hpp"
#include "tables/left_table.hpp"
#include "tables/queue_table.hpp"

namespace hipq::admin {

namespace {

using catalog::Queue;

// Views, foreign keys and functions of users that depend on the tables of a queue.
constinit pg::Statement select_dependent_objects(R"(
    WITH tree AS (
        SELECT member.oid, member.reltype
        FROM pg_class AS relation
        CROSS JOIN pg_partition_tree(relation.oid) AS part
        JOIN pg_class AS member ON member.oid = part.relid
        WHERE relation.relnamespace = 'hipq'::regnamespace AND relation.relname = $1
    )
    SELECT pg_describe_object(classid, objid, objsubid)
    FROM pg_depend
    WHERE deptype = 'n'
      AND (refclassid = 'pg_class'::regclass AND refobjid IN (SELECT oid FROM tree)
           OR refclassid = 'pg_type'::regclass AND refobjid IN (SELECT reltype FROM tree))
      AND NOT (classid = 'pg_class'::regclass AND objid IN (SELECT oid FROM tree))
      AND NOT (classid = 'pg_constraint'::regclass
               AND objid IN (SELECT oid FROM pg_constraint WHERE conrelid IN (SELECT oid FROM tree)))
    ORDER BY 1
    LIMIT 1)");

bool has_unfinished_jobs(const Queue &queue)
{
    bool has = false;
    pg::as_hipq([&] {
        has = pg::run_once("SELECT EXISTS (SELECT FROM " + queue.qualified_live_table() + ")")
                  .front()
                  .boolean(0);
    });
    return has;
}

void check_dependent_objects(const Queue &queue)
{
    std::string dependent;
    pg::as_hipq([&] {
        for (const pg::Row row : select_dependent_objects.run(queue.table))
            dependent = row.text(0);
    });
    const std::string name = queue.full_name();
    if (!dependent.empty())
        HIPQ_RAISE(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
                   errmsg("cannot drop queue \"%s\" because other objects depend on its table",
                          name.c_str()),
                   errdetail("One is %s.", dependent.c_str()), errhint("Drop them first."));
}

constinit pg::Statement
    select_owns_queue("SELECT EXISTS (SELECT FROM hipq.queue WHERE owner = $1 AND NOT is_dropped)");

// An owner of another queue keeps what comes with any right, so there is nothing to revoke.
// Checking the rights on all queues to find that out would cost as much as all queues together.
void leave_out_owners(std::vector<Oid> &roles)
{
    pg::as_hipq([&] {
        std::erase_if(roles,
                      [](Oid role) { return select_owns_queue.run(role).front().boolean(0); });
    });
}

// A table that a dump without data left behind has no queue to drop.
void tell_of_left_table(const std::string &text)
{
    const auto name = core::parse_queue_name(text);
    if (!name.has_value() || !tables::is_left_table(core::default_table_name(*name)))
        return;
    HIPQ_RAISE(
        errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("queue \"%s\" does not exist", text.c_str()),
        errdetail("Its table is there without it, as after a dump without data."),
        errhint("hipq.create_queue('%s') takes the table over; or drop the table.", text.c_str()));
}

// The scheduler drops the tables when no session reads them: a DROP TABLE that waited for a reader
// of hipq.job would make the enqueuers of all queues wait. If no scheduler will come, drop them
// here.
void drop_queue(const pg::Arguments &arguments)
{
    const std::string text = arguments.text("queue");
    const bool force = arguments.maybe_bool("force").value_or(false);
    catalog::lock_queue_name(text);
    const auto catalogue = catalog::catalogue();
    if (catalogue->find(text) == nullptr)
        tell_of_left_table(text);
    const Queue &queue = catalog::require_own_queue(*catalogue, text);
    if (!force && has_unfinished_jobs(queue))
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_IN_USE),
                   errmsg("cannot drop queue \"%s\" because it has unfinished jobs", text.c_str()),
                   errhint("Use force => true to drop them too."));
    check_dependent_objects(queue);
    forget_schedules_of(queue.id);
    const bool has_scheduler = memory::is_loaded() && !catalog::is_held() && !queue.stands_still();
    std::vector<Oid> roles = holders_of_rights(queue);
    pg::as_hipq([&] {
        job::fail_members(queue);
        if (has_scheduler)
            tables::mark_queue_dropped(queue.id, queue.table);
        else
            tables::forget_queue(queue.id, queue.table);
    });
    leave_out_owners(roles);
    take_needless_schema(roles);
    wakeup::note_catalogue_change();
    tell_of_shards(queue, "queue \"" + text + "\"",
                   "hipq.drop_queue(" + pg::quote_literal(text) + ")");
}

}  // namespace

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_drop_queue)
{
    hipq::admin::with_hint_on_locks("drops queues",
                                    [&] { hipq::admin::drop_queue(hipq::pg::Arguments(fcinfo)); });
    return hipq::pg::return_void();
}
