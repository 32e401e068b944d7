// Caches the catalogue of this process: reads the tables (read_catalogue.hpp) and hands out shared
// constant copies. After a change in one queue, only that queue is read again; the others are
// shared with the previous copy (changes.hpp). Types and queues contain values of settings, so the
// cache also keeps the values that it was made with.
#include "catalog/cache.hpp"

#include "catalog/changes.hpp"
#include "catalog/reading/queue_pauses.hpp"
#include "catalog/reading/queue_types.hpp"
#include "catalog/reading/read_catalogue.hpp"
#include "catalog/reading/read_settled.hpp"
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

// The queues, and how many changes this process had received before it read.
struct CachedCatalogue {
    std::shared_ptr<const Catalogue> catalogue{};  // null: not read yet
    std::uint64_t changes = 0;
    std::uint64_t whole = 0;
    Defaults defaults{};
    std::shared_ptr<const Catalogue> working{};  // without the queues that stand still
};

// On the heap and never freed, because globals have no destructors.
constinit CachedCatalogue *cached_catalogue = nullptr;

}  // namespace

const Queue *Catalogue::find(int queue_id) const
{
    const auto found = queues.find(queue_id);
    return found == queues.end() ? nullptr : &(*found).second;
}

namespace {

// The names of queues that are not dropped. A queue's name takes precedence over a table's name.
std::shared_ptr<QueueNames> names_of(const QueueMap &queues)
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
    auto found = names->find(full_name);
    if (found == names->end() && is_read_as_met)
        if (const auto id = in_a_transaction([&] { return read_number(full_name); }))
            found = names->emplace(full_name, *id).first;
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

// ---- reading ----

// Job types and pauses that have not changed are kept.
void give_contents(Queue &queue, const KnownQueue *before, const QueueVersion &now)
{
    queue.types = before != nullptr && before->version.types == now.types
                      ? before->queue->types
                      : std::make_shared<QueueTypes>(queue.id);
    queue.pauses = before != nullptr && before->version.pauses == now.pauses
                       ? before->queue->pauses
                       : std::make_shared<QueuePauses>(queue.id, queue.has_waits);
}

// Returns the changes that this process has received until now.
Versions begin_reading()
{
    versions().is_reading = true;
    return versions();
}

// From now on this process notes the changes of a queue that it has read.
KnownQueue note_read(std::shared_ptr<Queue> queue, const KnownQueue *before, const Versions &then)
{
    versions().queues.try_emplace(queue->id);
    versions().instances.try_emplace(queue->instance_id);
    const auto version = then.queues.find(queue->id);
    const auto of_instance = then.instances.find(queue->instance_id);
    KnownQueue known{nullptr, version == then.queues.end() ? QueueVersion{} : version->second,
                     of_instance == then.instances.end() ? 0 : of_instance->second};
    give_contents(*queue, before, known.version);
    known.queue = std::move(queue);
    return known;
}

const KnownQueue *find_known(const CachedCatalogue &cached, int id)
{
    if (cached.catalogue == nullptr)
        return nullptr;
    const auto &known = cached.catalogue->queues.known();
    const auto found = known.find(id);
    return found == known.end() ? nullptr : &found->second;
}

std::vector<std::int64_t> known_ids(const CachedCatalogue &cached)
{
    std::vector<std::int64_t> ids;
    if (cached.catalogue != nullptr)
        for (const auto &entry : cached.catalogue->queues.known())
            ids.push_back(entry.first);
    return ids;
}

// ---- the whole catalogue ----

// Forgets the changes of queues that no longer exist.
void forget_others(const QueueMap &queues)
{
    std::erase_if(versions().queues,
                  [&](const auto &entry) { return !queues.contains(entry.first); });
}

// Reads all queues, or those that this process has used. `before` may be empty, or made with other
// values of settings.
CachedCatalogue read_anew(const CachedCatalogue &before, const Defaults &defaults)
{
    find_tables();
    const Versions then = begin_reading();
    auto result = std::make_shared<Catalogue>();
    result->job_ids = pg::call(
        [] { return ::get_relname_relid("job_id_seq", ::get_namespace_oid("hipq", true)); });
    const bool was_whole = before.catalogue != nullptr && before.catalogue->queues.is_whole();
    result->is_read_as_met = !was_whole && all_queues_are_simple();
    const bool is_comparable = before.catalogue != nullptr && before.defaults == defaults;
    for (auto &[id, queue] :
         result->is_read_as_met ? read_queues(known_ids(before)) : read_all_queues())
        result->queues.set(
            id, note_read(queue, is_comparable ? find_known(before, id) : nullptr, then));
    if (result->is_read_as_met)
        result->queues.read_as_met();
    else
        forget_others(result->queues);
    versions().is_reading = false;
    result->names =
        result->is_read_as_met ? std::make_shared<QueueNames>() : names_of(result->queues);
    return {std::move(result), then.changes, then.whole, defaults, nullptr};
}

// ---- changes of single queues ----

// The numbers of the queues whose rows may have changed.
std::vector<std::int64_t> changed_rows(const Catalogue &before, const Versions &now)
{
    std::vector<std::int64_t> ids;
    for (const auto &[id, known] : before.queues.known())
        if (known.version.queue != now.queues.at(id).queue ||
            known.instance_version != now.instances.at(known.queue->instance_id))
            ids.push_back(id);
    return ids;
}

// Returns whether the names of queues are the same as before.
bool keep_names(const Catalogue &before, const QueuesByNumber &changed,
                const std::vector<std::int64_t> &ids)
{
    return std::ranges::all_of(ids, [&](std::int64_t id) {
        const auto queue = changed.find(static_cast<int>(id));
        return queue != changed.end() &&
               are_named_alike(*before.queues.known().at(queue->first).queue, *queue->second);
    });
}

// Reads the changes of single queues only. A queue that is no longer there was deleted by the same
// transaction, which has sent a message about that.
CachedCatalogue read_changed(const CachedCatalogue &cached)
{
    const Versions then = begin_reading();
    const Catalogue &before = *cached.catalogue;
    auto result = std::make_shared<Catalogue>(before);
    const std::vector<std::int64_t> ids = changed_rows(before, then);
    const QueuesByNumber changed = ids.empty() ? QueuesByNumber() : read_queues(ids);
    for (const auto &[id, known] : before.queues.known()) {
        const Queue &old = *known.queue;
        const auto found = changed.find(id);
        const bool is_read = std::ranges::binary_search(ids, std::int64_t{id});
        if (is_read && found == changed.end()) {
            result->queues.erase(id);
        } else if (is_read || known.version != then.queues.at(id)) {
            auto next = is_read ? found->second : std::make_shared<Queue>(old);
            next->shards = old.shards;
            next->leaving_in_order = old.leaving_in_order;
            next->coming_in_order = old.coming_in_order;
            result->queues.set(id, note_read(std::move(next), &known, then));
        }
    }
    versions().is_reading = false;
    if (!keep_names(before, changed, ids))
        result->names =
            before.is_read_as_met ? std::make_shared<QueueNames>() : names_of(result->queues);
    return {std::move(result), then.changes, then.whole, cached.defaults, nullptr};
}

// ---- queues that are read when they are met ----

// From this many queues on, a process reads them all: that costs as much as some hundred single
// ones.
constexpr std::size_t most_met = 100;

template <class Read>
void read_into(QueueMap::Known &known, const Read &read)
{
    const Versions then = begin_reading();
    for (auto &[id, queue] : in_a_transaction(read))
        if (!known.contains(id))
            known.emplace(id, note_read(queue, nullptr, then));
    versions().is_reading = false;
}

}  // namespace

const QueueMap::Known &QueueMap::all() const
{
    if (!is_whole_)
        read_into(known_, read_all_queues);
    is_whole_ = true;
    return known_;
}

QueueMap::Known::const_iterator QueueMap::met(int id) const
{
    const auto found = known_.find(id);
    if (found != known_.end() || is_whole_)
        return found;
    if (known_.size() >= most_met)
        return all().find(id);
    read_into(known_, [&] { return read_queues({id}); });
    return known_.find(id);
}

namespace {

CachedCatalogue with_working(CachedCatalogue fresh)
{
    fresh.working =
        fresh.catalogue->is_read_as_met ? fresh.catalogue : without_still_queues(fresh.catalogue);
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
        const bool is_anew = cached.catalogue == nullptr || cached.defaults != defaults ||
                             cached.whole != present.whole;
        if (!is_anew && cached.changes == present.changes)
            break;
        cached = with_working(is_anew ? read_anew(cached, defaults) : read_changed(cached));
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
