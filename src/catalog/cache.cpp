// Caches the catalogue of this process: reads the tables (read_catalogue.hpp) and hands out shared
// constant copies. After a change in one queue, only that queue is read again; the others are
// shared with the previous copy (changes.hpp). Types and queues contain values of settings, so the
// cache also keeps the values that it was made with.
#include "catalog/cache.hpp"

#include "catalog/changes.hpp"
#include "catalog/reading/queue_pauses.hpp"
#include "catalog/reading/queue_types.hpp"
#include "catalog/reading/read_catalogue.hpp"
#include "pg/time_zone.hpp"
#include "settings.hpp"

extern "C" {
#include "storage/lmgr.h"
}

namespace hipq::catalog {

namespace {

// The settings that queues and types fall back to.
struct Defaults {
    settings::Duration default_timeout;
    settings::Duration max_timeout;
    int max_retries;
    settings::Duration retry_base;
    double retry_multiplier;
    settings::Duration retry_max;
    double retry_jitter;
    settings::Duration retention;
    settings::Duration dead_letter_retention;
    bool dead_letter_enabled;
    int dead_letter_max;
    bool is_standby;  // not a setting, but a promotion also changes what the tables mean
    bool operator==(const Defaults &) const = default;
};

Defaults present_defaults()
{
    return {
        settings::default_timeout,     settings::max_timeout,      settings::max_retries,
        settings::retry_base,          settings::retry_multiplier, settings::retry_max,
        settings::retry_jitter,        settings::retention,        settings::dead_letter_retention,
        settings::dead_letter_enabled, settings::dead_letter_max,  ::RecoveryInProgress()};
}

// The queues, and the changes of them that this process had received before it read.
struct CachedCatalogue {
    std::shared_ptr<const Catalogue> catalogue{};  // null: not read yet
    Versions versions{};
    Defaults defaults{};
    std::shared_ptr<const Catalogue> working{};  // without the queues that stand still
};

// On the heap and never freed, because globals have no destructors.
constinit CachedCatalogue *cached_catalogue = nullptr;

}  // namespace

const Queue *Catalogue::find(int queue_id) const
{
    const auto found = queues.find(queue_id);
    return found == queues.end() ? nullptr : &found->second;
}

namespace {

// The names of queues that are not dropped. A queue's name takes precedence over a table's name.
std::shared_ptr<const QueueNames> names_of(const QueueMap &queues)
{
    auto names = std::make_shared<QueueNames>();
    names->reserve(2 * queues.size());
    for (const auto &[id, queue] : queues)
        if (!queue.is_dropped)
            names->emplace(queue.full_name(), id);
    for (const auto &[id, queue] : queues)
        if (!queue.is_dropped)
            names->emplace("hipq." + queue.table, id);
    return names;
}

bool are_named_alike(const Queue &one, const Queue &other)
{
    return one.is_dropped == other.is_dropped && one.name == other.name &&
           one.instance == other.instance && one.table == other.table;
}

}  // namespace

const Queue *Catalogue::find(std::string_view full_name) const
{
    if (names == nullptr)
        return nullptr;
    const auto found = names->find(full_name);
    return found == names->end() ? nullptr : find(found->second);
}

namespace {

std::shared_ptr<const Catalogue> without_still_queues(const std::shared_ptr<const Catalogue> &whole)
{
    const auto stands_still = [](const auto &entry) { return entry.second.stands_still(); };
    if (std::none_of(whole->queues.begin(), whole->queues.end(), stands_still))
        return whole;
    auto working = std::make_shared<Catalogue>(*whole);
    for (const auto &[id, queue] : whole->queues)
        if (queue.stands_still())
            working->queues.erase(id);
    return working;
}

// ---- the whole catalogue ----

// Job types and pauses that have not changed are kept.
void give_contents(Queue &queue, const Queue *before, const QueueVersion &then,
                   const QueueVersion &now)
{
    queue.types = before != nullptr && then.types == now.types
                      ? before->types
                      : std::make_shared<QueueTypes>(queue.id);
    queue.pauses = before != nullptr && then.pauses == now.pauses
                       ? before->pauses
                       : std::make_shared<QueuePauses>(queue.id);
}

// Adds queues that are new to this process, and deletes queues that no longer exist.
void know(const QueueMap &queues, Versions &read)
{
    Versions &own = versions();
    std::erase_if(own.queues, [&](const auto &entry) { return !queues.contains(entry.first); });
    std::erase_if(read.queues, [&](const auto &entry) { return !queues.contains(entry.first); });
    for (const auto &[id, queue] : queues) {
        read.queues.emplace(id, own.queues.try_emplace(id).first->second);
        read.instances.emplace(queue.instance_id,
                               own.instances.try_emplace(queue.instance_id).first->second);
    }
    own.is_read_whole_now = false;
}

// `before` may be empty, or made with other values of settings.
CachedCatalogue read_whole(const CachedCatalogue &before, const Defaults &defaults)
{
    find_tables();
    versions().is_read_whole_now = true;
    CachedCatalogue fresh{nullptr, versions(), defaults, nullptr};
    auto result = std::make_shared<Catalogue>();
    result->job_ids = pg::call(
        [] { return ::get_relname_relid("job_id_seq", ::get_namespace_oid("hipq", true)); });
    const bool is_comparable = before.catalogue != nullptr && before.defaults == defaults;
    for (auto &[id, queue] : read_all_queues()) {
        const auto then = before.versions.queues.find(id);
        const auto now = fresh.versions.queues.find(id);
        if (is_comparable && then != before.versions.queues.end() &&
            now != fresh.versions.queues.end())
            give_contents(*queue, before.catalogue->find(id), then->second, now->second);
        else
            give_contents(*queue, nullptr, {}, {});
        result->queues.set(id, queue);
    }
    know(result->queues, fresh.versions);
    result->names = names_of(result->queues);
    fresh.catalogue = std::move(result);
    return fresh;
}

// The numbers of the queues whose rows may have changed.
std::vector<std::int64_t> changed_rows(const CachedCatalogue &before, const Versions &now)
{
    std::vector<std::int64_t> ids;
    for (const auto &[id, queue] : before.catalogue->queues)
        if (before.versions.queues.at(id).queue != now.queues.at(id).queue ||
            before.versions.instances.at(queue.instance_id) != now.instances.at(queue.instance_id))
            ids.push_back(id);
    return ids;
}

// Reads the changes of single queues only.
CachedCatalogue read_changed(const CachedCatalogue &before)
{
    CachedCatalogue fresh{nullptr, versions(), before.defaults, nullptr};
    auto result = std::make_shared<Catalogue>(*before.catalogue);
    const std::vector<std::int64_t> ids = changed_rows(before, fresh.versions);
    QueuesByNumber changed = ids.empty() ? QueuesByNumber() : read_queues(ids);
    bool are_named = true;
    for (const std::int64_t id : ids) {
        const Queue &old = *before.catalogue->find(static_cast<int>(id));
        const auto queue = changed.find(old.id);
        are_named = are_named && queue != changed.end() && are_named_alike(old, *queue->second);
        if (queue == changed.end()) {
            result->queues.erase(
                old.id);  // the same transaction has deleted it and sent a message about that
            continue;
        }
        queue->second->shards = old.shards;
        queue->second->leaving_in_order = old.leaving_in_order;
        queue->second->coming_in_order = old.coming_in_order;
    }
    for (const auto &[id, queue] : before.catalogue->queues) {
        const QueueVersion &then = before.versions.queues.at(id);
        const QueueVersion &now = fresh.versions.queues.at(id);
        auto found = changed.find(id);
        if (found == changed.end() && (then == now || !result->queues.contains(id)))
            continue;
        auto next = found == changed.end() ? std::make_shared<Queue>(queue) : found->second;
        give_contents(*next, &queue, then, now);
        result->queues.set(id, std::move(next));
    }
    know(result->queues, fresh.versions);
    if (!are_named)
        result->names = names_of(result->queues);
    fresh.catalogue = std::move(result);
    return fresh;
}

}  // namespace

std::shared_ptr<const Catalogue> catalogue()
{
    // Locking a table receives messages of changes, but a transaction that already holds its locks
    // does not lock again, so receive them here.
    pg::call([] { ::AcceptInvalidationMessages(); });
    if (cached_catalogue == nullptr)
        cached_catalogue = new CachedCatalogue();
    for (int reads = 0; reads < max_reads; ++reads) {
        const Defaults defaults = present_defaults();
        CachedCatalogue &cached = *cached_catalogue;
        const Versions &present = versions();
        const bool is_whole = cached.catalogue == nullptr || cached.defaults != defaults ||
                              cached.versions.whole != present.whole;
        if (!is_whole && cached.versions.changes == present.changes)
            break;
        CachedCatalogue fresh = is_whole ? read_whole(cached, defaults) : read_changed(cached);
        fresh.working = without_still_queues(fresh.catalogue);
        cached = std::move(fresh);
    }
    return cached_catalogue->catalogue;
}

std::shared_ptr<const Catalogue> catalogue_with_locked_maps()
{
    if (cached_catalogue == nullptr || cached_catalogue->catalogue == nullptr)
        catalogue();
    if (const Oid map = watched_tables().map; OidIsValid(map))
        pg::call([&] { ::LockRelationOid(map, RowShareLock); });
    return catalogue();
}

bool are_maps_settled()
{
    const Oid map = watched_tables().map;
    return !OidIsValid(map) || pg::call([&] {
        if (!::ConditionalLockRelationOid(map, ShareLock))
            return false;
        ::UnlockRelationOid(map, ShareLock);
        return true;
    });
}

std::shared_ptr<const Catalogue> working_catalogue()
{
    catalogue();
    return cached_catalogue->working;
}

JobType unregistered_job_type(int queue_id, std::string_view name)
{
    JobType type{};
    type.queue_id = queue_id;
    type.name = name;
    type.handler = "NONE";
    type.handler_kind = HandlerKind::none;
    type.retry_handler = "NONE";
    type.default_timeout = settings::default_timeout.whole_seconds();
    type.default_throttle_factor = "1.000";  // with the scale of the column
    type.default_time_windows = "NONE";
    type.time_zone = pg::default_time_zone();
    type.policy = default_policy();
    type.claim = core::ClaimRule::automatic;
    type.batch_size = 1;
    return type;
}

const Queue &require_queue(const Catalogue &catalogue, std::string_view full_name)
{
    if (const Queue *queue = catalogue.find(full_name); queue != nullptr)
        return *queue;
    const std::string name(full_name);
    if (name.find('.') == std::string::npos)
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
                   errmsg("queue \"%s\" does not exist", name.c_str()),
                   errhint("A queue is named \"instance.queue\"."));
    HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
               errmsg("queue \"%s\" does not exist", name.c_str()),
               errhint("View hipq.queues lists the queues that you may use."));
}

Oid live_leaf(const Queue &queue)
{
    const std::string name = queue.live_table();
    return pg::call(
        [&] { return ::get_relname_relid(name.c_str(), ::get_namespace_oid("hipq", false)); });
}

}  // namespace hipq::catalog
