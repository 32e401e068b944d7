// Looks up a worker by its number and demands its role.
#include "external/own_worker.hpp"

#include "catalog/rights.hpp"
#include "catalog/worker_rows.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::external {

namespace {

using workers::WorkerSlot;

constinit pg::Statement select_role("SELECT role::oid FROM hipq.worker WHERE worker_id = $1");

[[noreturn]] void raise_unknown_worker(std::int64_t id)
{
    HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
               errmsg("worker " INT64_FORMAT " does not exist", id),
               errhint("It was deregistered, or its name was taken over: register it again."));
}

}  // namespace

void require_shared_memory()
{
    if (!memory::is_loaded())
        HIPQ_RAISE(
            errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("hipq is not preloaded"),
            errhint(
                "Add hipq to shared_preload_libraries in postgresql.conf and restart the server."));
}

WorkerSlot require_worker(std::int64_t id)
{
    require_shared_memory();
    const std::optional<WorkerSlot> slot = catalog::find_worker(id);
    if (!slot.has_value())
        raise_unknown_worker(id);
    return *slot;
}

void raise_strange_worker(std::int64_t id)
{
    HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
               errmsg("worker " INT64_FORMAT " belongs to another role", id));
}

namespace {

// A session that finds this out makes the scheduler take the worker's jobs and its place.
[[noreturn]] void raise_without_work(std::int64_t id)
{
    databases::work_due(MyDatabaseId, pg::now());
    HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
               errmsg("worker " INT64_FORMAT " may not work any more", id),
               errdetail("Its role has privilege \"work\" on none of the queues that it serves."),
               errhint("The queue owner can give it with hipq.grant_queue()."));
}

}  // namespace

WorkerSlot require_own_worker(std::int64_t id)
{
    const WorkerSlot slot = require_worker(id);
    if (slot.role != catalog::caller())
        raise_strange_worker(id);
    if (slot.state == workers::WorkerState::ended)
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("worker " INT64_FORMAT " has ended", id),
                   errdetail("Its session has ended or listens no more, or it was deregistered."),
                   errhint("Register it again."));
    if (slot.state == workers::WorkerState::present && !catalog::has_work(id))
        raise_without_work(id);
    return slot;
}

std::optional<Oid> role_of(std::int64_t id)
{
    require_shared_memory();
    if (const std::optional<WorkerSlot> slot = catalog::find_worker(id))
        return slot->role;
    const pg::Rows rows = pg::as_hipq([&] { return select_role.run(id); });
    return rows.empty() ? std::nullopt : std::optional(rows.front().oid(0));
}

Oid require_role_of(std::int64_t id)
{
    const std::optional<Oid> role = role_of(id);
    if (!role.has_value())
        raise_unknown_worker(id);
    return *role;
}

}  // namespace hipq::external
