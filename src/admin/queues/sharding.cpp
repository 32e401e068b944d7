// Reads and stores how a sharded instance divides the jobs of a queue, what it keeps in order, and
// the scope in which keys are unique.
#include "admin/queues/sharding.hpp"

#include "catalog/queue_statements.hpp"
#include "core/job/validate.hpp"
#include "core/shards/shard_key.hpp"
#include "nodes/nodes.hpp"
#include "pg/internal_write.hpp"
#include "tables/queue_table.hpp"

#include <array>

extern "C" {
#include "storage/lmgr.h"
}

namespace hipq::admin {

namespace {

using catalog::Queue;
using core::UniqueScope;

constinit pg::Statement
    update_shard_key("UPDATE hipq.queue SET shard_key = $2 WHERE queue_id = $1");
constinit pg::Statement reset_shard_key(R"(
    UPDATE hipq.queue AS queue
    SET shard_key = coalesce($2, instance.shard_key)
    FROM hipq.instance AS instance
    WHERE queue.queue_id = $1 AND instance.instance_id = queue.instance_id)");

constinit pg::Statement
    update_throttle_mode("UPDATE hipq.queue SET throttle_mode = $2 WHERE queue_id = $1");
constinit pg::Statement
    update_move_order("UPDATE hipq.queue SET move_order = $2 WHERE queue_id = $1");
constinit pg::Statement
    update_unique_scope("UPDATE hipq.queue SET unique_scope = $2 WHERE queue_id = $1");
constinit pg::Statement
    select_shard_key("SELECT queue.shard_key FROM hipq.queue AS queue WHERE queue.queue_id = $1");

}  // namespace

void check_shard_key(const std::string &text)
{
    if (text == core::none_text || core::parse_shard_key(text).has_value())
        return;
    HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
               errmsg("shard_key \"%s\" is neither a column nor a path", text.c_str()),
               errhint("Give shard_key, job_key, throttle_key or job_type, or a path such as "
                       "job_data->>'tenant' or job_data#>>'{customer,id}'."));
}

namespace {

std::optional<std::string> read_shard_key(const pg::Arguments &arguments)
{
    auto shard_key = arguments.maybe_text("shard_key");
    if (shard_key.has_value())
        check_shard_key(*shard_key);
    return shard_key;
}

std::optional<std::string> read_mode(const pg::Arguments &arguments, const char *name,
                                     std::array<const char *, 2> words)
{
    auto mode = arguments.maybe_text(name);
    if (mode.has_value() && *mode != words[0] && *mode != words[1])
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("unknown %s \"%s\"", name, mode->c_str()),
                   errhint("It is %s or %s.", words[0], words[1]));
    return mode;
}

std::optional<UniqueScope> read_unique_scope(const pg::Arguments &arguments)
{
    const auto text = arguments.maybe_text("unique_scope");
    if (!text.has_value())
        return std::nullopt;
    const auto scope = core::parse_unique_scope(*text);
    if (!scope.has_value())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("unknown unique_scope \"%s\"", text->c_str()),
                   errhint("It is global or shard_key."));
    return scope;
}

void set_shard_key(int queue_id, const std::optional<std::string> &shard_key, bool or_reset)
{
    if (or_reset)
        pg::as_hipq([&] { reset_shard_key.run(queue_id, shard_key); });
    else if (shard_key.has_value())
        pg::as_hipq([&] { update_shard_key.run(queue_id, *shard_key); });
}

void set_mode(pg::Statement &update, int queue_id, const std::optional<std::string> &mode)
{
    if (mode.has_value())
        pg::as_hipq([&] { update.run(queue_id, *mode); });
}

void set_modes(int queue_id, const Sharding &sharding)
{
    set_mode(update_throttle_mode, queue_id, sharding.throttle_mode);
    set_mode(update_move_order, queue_id, sharding.move_order);
}

void set_unique_scope(int queue_id, UniqueScope before, const std::optional<UniqueScope> &scope)
{
    if (!scope.has_value() || *scope == before)
        return;
    const char *name = *scope == UniqueScope::shard_key ? "shard_key" : "global";
    pg::as_hipq([&] { update_unique_scope.run(queue_id, name); });
}

std::string shard_key_now(int queue_id)
{
    return pg::as_extension_owner(
        [&] { return select_shard_key.run_latest(queue_id).front().text(0); });
}

void demand_shard_key(UniqueScope scope, const std::string &shard_key)
{
    if (scope == UniqueScope::shard_key && shard_key == core::none_text)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("unique_scope \"shard_key\" needs a shard_key"),
                   errhint("Give shard_key, such as job_data->>'tenant'."));
}

// ---- a queue that is in use ----

// Uses the index on keys.
constexpr const char *has_keys_sql =
    "SELECT EXISTS (SELECT FROM {live} AS job WHERE job.job_key <> 'NONE')";

void demand_no_keys(const Queue &queue, const char *what)
{
    const bool has_keys = pg::as_hipq([&] {
        return catalog::statement_for(queue, has_keys_sql).run_latest().front().boolean(0);
    });
    const std::string name = queue.full_name();
    if (has_keys)
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_IN_USE),
                   errmsg("%s of queue \"%s\" cannot be changed while unfinished jobs have a key",
                          what, name.c_str()),
                   errdetail("It says what their keys are unique within."),
                   errhint("Wait until they have finished, or cancel them with hipq.cancel_jobs(); "
                           "or make another queue."));
}

// Refuses on the router only. On a shard the router makes the change: jobs of a queue that was
// dropped on the router may still be here, and the router's change waits until they end.
void demand_no_shards(const Queue &queue, const char *what)
{
    const std::string name = queue.full_name();
    if (queue.shards != nullptr && queue.shards->own_node == core::router_node)
        HIPQ_RAISE(
            errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("%s of queue \"%s\" cannot be changed", what, name.c_str()),
            errdetail("It says what keys are unique within, and its instance has shards: jobs "
                      "of before may be on other servers than new ones with their keys."),
            errhint("Make another queue, and let this one run empty."));
}

// A session that waited for this lock would make all later ones wait behind it. So try every
// millisecond, as long as lock_timeout allows.
void lock_live_leaf(const Queue &queue)
{
    constexpr int longest = 5'000;
    const int most_tries = LockTimeout == 0 ? longest : std::min(LockTimeout, longest);
    const Oid leaf = catalog::live_leaf(queue);
    const std::string name = queue.full_name();
    for (int tries = 0; !pg::call([&] {
             CHECK_FOR_INTERRUPTS();
             return ::ConditionalLockRelationOid(leaf, AccessExclusiveLock);
         });
         ++tries) {
        if (tries == most_tries)
            HIPQ_RAISE(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
                       errmsg("the table of queue \"%s\" is in use", name.c_str()),
                       errhint("Pause the queue, and try again when its jobs have ended."));
        pg::call([] { ::pg_usleep(1'000); });
    }
}

}  // namespace

Sharding read_sharding(const pg::Arguments &arguments)
{
    return {read_shard_key(arguments), read_mode(arguments, "throttle_mode", {"home", "shared"}),
            read_mode(arguments, "move_order", {"key", "strict"}), read_unique_scope(arguments)};
}

core::UniqueScope set_sharding(int queue_id, const Sharding &sharding)
{
    set_shard_key(queue_id, sharding.shard_key, true);
    set_modes(queue_id, sharding);
    set_unique_scope(queue_id, UniqueScope::everywhere, sharding.unique_scope);
    const UniqueScope scope = sharding.unique_scope.value_or(UniqueScope::everywhere);
    if (scope == UniqueScope::shard_key)
        demand_shard_key(scope, shard_key_now(queue_id));
    return scope;
}

void change_sharding(const Queue &queue, const Sharding &sharding, IfNoShardKey if_none)
{
    const UniqueScope before = queue.unique_scope;
    const UniqueScope scope = sharding.unique_scope.value_or(before);
    set_shard_key(queue.id, sharding.shard_key, if_none == IfNoShardKey::is_reset);
    set_modes(queue.id, sharding);
    set_unique_scope(queue.id, before, scope);
    if (before == UniqueScope::everywhere && scope == before)
        return;
    const std::string shard_key = shard_key_now(queue.id);
    demand_shard_key(scope, shard_key);
    if (scope == before && shard_key == queue.shard_key_text)
        return;
    const char *what = scope == before ? "shard_key" : "unique_scope";
    demand_no_shards(queue, what);
    demand_no_keys(queue, what);
    lock_live_leaf(queue);
    demand_no_keys(queue, what);
    if (scope != before)
        pg::as_hipq([&] { tables::remake_key_index(queue.table, scope); });
}

void tell_of_shards(const catalog::Queue &queue, const std::string &what, const std::string &call)
{
    if (queue.shards == nullptr || queue.shards->own_node != core::router_node)
        return;
    pg::call([&] {
        ereport(NOTICE,
                errmsg("%s stays on the shards of instance \"%s\"", what.c_str(),
                       queue.instance.c_str()),
                errhint("Run SELECT %s on each of them, when its jobs there have ended.",
                        call.c_str()));
    });
}

void note_places(const Queue &queue)
{
    (void)queue.placement();
}

void tell_of_new_places(const Queue &before)
{
    if (before.shards == nullptr || before.shards->own_node != core::router_node)
        return;
    const auto catalogue = catalog::catalogue();
    const Queue *after = catalogue->find(before.id);
    if (after == nullptr || nodes::place_keys_alike(before, *after))
        return;
    const std::string name = before.full_name();
    pg::call([&] {
        ereport(NOTICE,
                errmsg("new jobs of queue \"%s\" go to other servers than those of before",
                       name.c_str()),
                errdetail("An unfinished job stays where it is, so a new one with its key is not "
                          "known as its duplicate, and may run beside it."),
                errhint("Let jobs that have keys end before new ones with their keys come."));
    });
}

}  // namespace hipq::admin
