// Sends and receives the messages about changes of the catalogue.
#include "catalog/changes.hpp"

#include "pg/guard.hpp"

namespace hipq::catalog {

namespace {

constinit Versions *own_versions = nullptr;  // on the heap: no destructor at exit
constinit WatchedTables watched{};

// ---- messages ----

// The upper quarter of all OIDs, which PostgreSQL assigns last.
constexpr Oid first_message = 0xC000'0000;
constexpr int parts_of_queue = 4;
constexpr int most_numbers = 0x4000'0000 / parts_of_queue;

// Numbers of queues and instances only grow. Beyond most_numbers, a change is sent as one of the
// whole table.
Oid message_for(Part part, int number)
{
    if (number >= 0 && number < most_numbers)
        return first_message + static_cast<Oid>(number) * parts_of_queue + static_cast<Oid>(part);
    const char *table = part == Part::types ? "job_type" : part == Part::pauses ? "pause" : "queue";
    return ::get_relname_relid(table, ::get_namespace_oid("hipq", false));
}

// ---- their meaning ----

void note_change_of_all(Versions &all, Part part)
{
    for (auto &[id, version] : all.queues)
        ++(part == Part::types ? version.types : version.pauses);
}

bool note_change(Versions &all, Part part, int number)
{
    if (part == Part::instance) {
        const auto instance = all.instances.find(number);
        return instance != all.instances.end() && ++instance->second != 0;
    }
    const auto queue = all.queues.find(number);
    if (queue == all.queues.end())
        return false;
    QueueVersion &version = queue->second;
    ++(part == Part::queue ? version.queue : part == Part::types ? version.types : version.pauses);
    return true;
}

bool is_read_whole(Oid relation)
{
    return relation == watched.queue || relation == watched.pause || relation == watched.breaker ||
           relation == watched.instance || relation == watched.hold || relation == watched.map ||
           relation == watched.coming || relation == watched.leaving || relation == watched.move;
}

// Handles a message under an OID above those of tables.
void take_message_of_one(Versions &all, Oid message)
{
    const Oid number = message - first_message;
    const bool is_known = note_change(all, static_cast<Part>(number % parts_of_queue),
                                      static_cast<int>(number / parts_of_queue));
    if (!is_known && !all.is_reading)
        return;
    ++all.changes;
    if (!is_known)
        ++all.whole;
}

// Handles a message about a table; InvalidOid: about all tables.
void take_message(Versions &all, Oid table)
{
    const bool is_any = !OidIsValid(table);
    const bool has_types = is_any || table == watched.job_type;
    const bool is_whole = is_any || is_read_whole(table);
    if (is_any || table == watched.schedule)
        ++all.schedules;
    if (!has_types && !is_whole)
        return;
    ++all.changes;
    if (has_types)
        note_change_of_all(all, Part::types);
    if (is_any || table == watched.pause || table == watched.breaker)
        note_change_of_all(all, Part::pauses);
    if (is_whole)
        ++all.whole;
}

extern "C" void hipq_relation_of_catalogue_changed(Datum, Oid relation) noexcept
{
    if (own_versions == nullptr)
        return;
    if (relation >= first_message)
        take_message_of_one(*own_versions, relation);
    take_message(*own_versions, relation);
}

}  // namespace

void tell_of_change(Part part, int number)
{
    // CacheInvalidateRelcache() reads nothing but these fields.
    FormData_pg_class form{};
    RelationData relation{};
    relation.rd_rel = &form;
    relation.rd_id = message_for(part, number);
    ::CacheInvalidateRelcache(&relation);
}

void tell_of_schedules()
{
    ::CacheInvalidateRelcacheByRelid(
        ::get_relname_relid("schedule", ::get_namespace_oid("hipq", false)));
}

Versions &versions()
{
    if (own_versions == nullptr)
        own_versions = new Versions();
    return *own_versions;
}

const WatchedTables &watched_tables()
{
    return watched;
}

void find_tables()
{
    pg::call([] {
        const Oid schema = ::get_namespace_oid("hipq", true);
        const auto find = [&](const char *name) {
            return OidIsValid(schema) ? ::get_relname_relid(name, schema) : InvalidOid;
        };
        watched = {find("queue"),        find("job_type"),      find("pause"),
                   find("instance"),     find("queue_hold"),    find("shard_map"),
                   find("shard_coming"), find("shard_leaving"), find("shard_move"),
                   find("schedule"),     find("breaker_state")};
    });
}

void watch_catalogue()
{
    ::CacheRegisterRelcacheCallback(hipq_relation_of_catalogue_changed, Datum{0});
}

}  // namespace hipq::catalog
