// Locks names until the transaction ends, so that two transactions cannot give one name two
// meanings.
//
// Uses PostgreSQL's lock manager with tags of objects that do not exist: the class is table
// hipq.queue, the object number a hash of the name.
#include "catalog/name_lock.hpp"

#include "catalog/lock_holder_sql.hpp"
#include "pg/known_table.hpp"
#include "pg/subtransaction.hpp"
#include "pg/transaction.hpp"

extern "C" {
#include "common/hashfn.h"
#include "storage/lock.h"
#include "utils/inval.h"
}

namespace hipq::catalog {

namespace {

enum class Kind : std::uint16_t {
    queue = 1,
    table,
    schedule,
    partitions,
    schema_rights,
    set_up,
    shards
};

constexpr int longest_wait_for_name = 5'000;  // ms

constinit pg::Statement select_holder("SELECT " HIPQ_LOCK_HOLDER("held") R"(, held.pid IS NULL
    FROM pg_locks AS held
    WHERE held.locktype = 'object' AND held.classid = 'hipq.queue'::regclass AND held.objsubid = $1 AND held.objid = $2 AND held.granted
      AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database()))");

std::uint32_t number_of(std::string_view name)
{
    return ::hash_bytes(reinterpret_cast<const unsigned char *>(name.data()),
                        static_cast<int>(name.size()));
}

// Returns nothing if hipq is not installed. Call inside pg::call() only.
std::optional<LOCKTAG> tag_of(Kind kind, std::string_view name)
{
    const pg::KnownTable *queues = pg::known_table("queue");
    if (queues == nullptr)
        return std::nullopt;
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, MyDatabaseId, queues->oid, number_of(name),
                       static_cast<std::uint16_t>(kind));
    return tag;
}

// Call inside pg::call() only.
void lock(Kind kind, std::string_view name)
{
    const auto tag = tag_of(kind, name);
    if (!tag.has_value())
        return;
    (void)::LockAcquire(&*tag, ExclusiveLock, false, false);
    ::AcceptInvalidationMessages();
}

std::string in_use_message(Kind kind, std::string_view name)
{
    if (kind == Kind::partitions)
        return "another transaction that makes a queue is open";
    if (kind == Kind::shards)
        return "another transaction that changes queues, job types or pauses of instance \"" +
               std::string(name) + "\" is open";
    return "another transaction that gives a role its first right or takes its last is open";
}

[[noreturn]] void raise_in_use(Kind kind, std::string_view name)
{
    const pg::Rows rows = pg::as_extension_owner(
        [&] { return select_holder.run(static_cast<int>(kind), Oid{number_of(name)}); });
    const std::string holder = rows.empty() ? "another transaction" : rows.front().text(0);
    const bool is_prepared = !rows.empty() && rows.front().boolean(1);
    const std::string message = in_use_message(kind, name);
    HIPQ_RAISE(errcode(ERRCODE_LOCK_NOT_AVAILABLE), errmsg("%s", message.c_str()),
               errdetail_internal("It is that of %s.", holder.c_str()),
               is_prepared ? errhint("End it with COMMIT PREPARED or ROLLBACK PREPARED.")
                           : errhint("Try again when it has ended."));
}

void lock_for_a_while(Kind kind, std::string_view name = "")
{
    const auto take = [&] { pg::call([&] { lock(kind, name); }); };
    if (!pg::with_lock_limit(longest_wait_for_name, pg::Ending::kept, take))
        raise_in_use(kind, name);
}

}  // namespace

void lock_queue_name(std::string_view name)
{
    pg::call([&] { lock(Kind::queue, name); });
}

void lock_table_name(std::string_view name)
{
    pg::call([&] { lock(Kind::table, name); });
}

void lock_schedule_name(int queue_id, std::string_view name)
{
    const std::string in_queue = std::to_string(queue_id) + " " + std::string(name);
    pg::call([&] { lock(Kind::schedule, in_queue); });
}

void lock_set_up(Oid role)
{
    const std::string number = std::to_string(role);
    pg::call([&] { lock(Kind::set_up, number); });
}

void lock_partitions()
{
    lock_for_a_while(Kind::partitions);
}

void lock_schema_rights()
{
    lock_for_a_while(Kind::schema_rights);
}

void lock_set_up_of_shards(std::string_view instance)
{
    lock_for_a_while(Kind::shards, instance);
}

bool is_set_up_settled(std::string_view instance)
{
    return pg::call([&] {
        const auto tag = tag_of(Kind::shards, instance);
        if (!tag.has_value())
            return true;
        if (::LockAcquire(&*tag, ExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
            return false;
        (void)::LockRelease(&*tag, ExclusiveLock, false);
        ::AcceptInvalidationMessages();
        return true;
    });
}

}  // namespace hipq::catalog
