// The catalogue of this process: read whole (read_catalogue.hpp), handed out as shared constant
// copies, read again after a change of the tables or settings.
//
// A change reaches every process as a relcache invalidation of hipq.queue, hipq.job_type or
// hipq.pause, which their triggers send. The settings are part of what a type or queue says, so the
// cache also holds the values it was made with.
#include "cache.hpp"

#include "catalog/read_catalogue.hpp"
#include "core/shards/ids.hpp"
#include "core/text/names.hpp"
#include "pg/time_zone.hpp"
#include "settings.hpp"

#include <unordered_map>

extern "C" {
#include "storage/lmgr.h"
}

namespace hipq::catalog {

namespace {

// The values of the settings that queues and types fall back to.
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
    bool is_standby;  // nor are they, but a promotion changes what the tables mean, too
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

// The queues of a catalogue by the names that they may be called by.
struct QueuesByName {
    std::unordered_map<std::string_view, const Queue *> queues{};
    std::vector<std::string> texts{};  // that the keys point into
};

struct CachedCatalogue {
    std::shared_ptr<const Catalogue> catalogue;
    std::uint64_t generation;
    Defaults defaults;
    QueuesByName queues{};
    std::shared_ptr<const Catalogue> working{};  // without the queues that stand still
};

// On the heap and never freed, because globals have no destructors.
constinit CachedCatalogue *cached_catalogue = nullptr;
// Grows with each invalidation.
constinit std::uint64_t catalogue_generation = 0;
constinit Oid queue_table = InvalidOid;
constinit Oid job_type_table = InvalidOid;
constinit Oid pause_table = InvalidOid;
constinit Oid instance_table = InvalidOid;
constinit Oid hold_table = InvalidOid;
constinit Oid map_table = InvalidOid;
constinit Oid coming_table = InvalidOid;
constinit Oid leaving_table = InvalidOid;
constinit Oid move_table = InvalidOid;
constinit Oid job_id_sequence = InvalidOid;

void forget_catalogue(Datum, Oid relation) noexcept
{
    if (!OidIsValid(relation) || relation == queue_table || relation == job_type_table ||
        relation == pause_table || relation == instance_table || relation == hold_table ||
        relation == map_table || relation == coming_table || relation == leaving_table ||
        relation == move_table)
        ++catalogue_generation;
}

// Which relations to listen for, looked up before the first look at them: a later change cannot be
// missed. The sequence comes and goes with them.
void find_tables()
{
    pg::call([] {
        const Oid schema = ::get_namespace_oid("hipq", true);
        queue_table = OidIsValid(schema) ? ::get_relname_relid("queue", schema) : InvalidOid;
        job_type_table = OidIsValid(schema) ? ::get_relname_relid("job_type", schema) : InvalidOid;
        pause_table = OidIsValid(schema) ? ::get_relname_relid("pause", schema) : InvalidOid;
        instance_table = OidIsValid(schema) ? ::get_relname_relid("instance", schema) : InvalidOid;
        hold_table = OidIsValid(schema) ? ::get_relname_relid("queue_hold", schema) : InvalidOid;
        map_table = OidIsValid(schema) ? ::get_relname_relid("shard_map", schema) : InvalidOid;
        coming_table =
            OidIsValid(schema) ? ::get_relname_relid("shard_coming", schema) : InvalidOid;
        leaving_table =
            OidIsValid(schema) ? ::get_relname_relid("shard_leaving", schema) : InvalidOid;
        move_table = OidIsValid(schema) ? ::get_relname_relid("shard_move", schema) : InvalidOid;
        job_id_sequence =
            OidIsValid(schema) ? ::get_relname_relid("job_id_seq", schema) : InvalidOid;
    });
}

// In the order of HandlerKind.
constexpr std::array<std::string_view, 5> handler_kinds{"none", "function", "procedure",
                                                        "statement", "notify"};

std::string qualified(std::string_view table)
{
    const std::string name(table);
    return pg::call([&] { return ::quote_qualified_identifier("hipq", name.c_str()); });
}

}  // namespace

HandlerKind parse_handler_kind(std::string_view text)
{
    const auto found = std::find(handler_kinds.begin(), handler_kinds.end(), text);
    return found == handler_kinds.end() ? HandlerKind::none
                                        : static_cast<HandlerKind>(found - handler_kinds.begin());
}

std::string_view name(HandlerKind kind)
{
    return handler_kinds[static_cast<std::size_t>(kind)];
}

std::string Queue::qualified_table() const
{
    return qualified(table);
}

std::string Queue::live_table() const
{
    return core::live_leaf_name(table);
}

std::string Queue::final_table() const
{
    return core::final_tree_name(table);
}

std::string Queue::qualified_live_table() const
{
    return qualified(live_table());
}

const JobType *Queue::find_job_type(std::string_view job_type) const
{
    const auto found = job_types.find(job_type);
    return found == job_types.end() ? nullptr : &found->second;
}

const Pause *Queue::find_pause(std::string_view job_type) const
{
    if (instance_pause.has_value())
        return &*instance_pause;
    if (pause.has_value())
        return &*pause;
    const JobType *type = find_job_type(job_type);
    return type != nullptr && type->pause.has_value() ? &*type->pause : nullptr;
}

namespace {

bool has_slot_of(const std::shared_ptr<const SlotSet> &slots, std::int64_t job_id)
{
    if (slots == nullptr)
        return false;
    const auto parts = core::decompose_id(job_id);
    return parts.has_value() && slots->test(static_cast<std::size_t>(parts->slot));
}

}  // namespace

bool Queue::has_left_in_order(std::int64_t job_id) const
{
    return has_slot_of(leaving_in_order, job_id);
}

bool Queue::comes_in_order(std::int64_t job_id) const
{
    return has_slot_of(coming_in_order, job_id);
}

std::vector<std::string> Queue::paused_keys(std::string_view job_type) const
{
    std::vector<std::string> keys;
    if (const JobType *type = find_job_type(job_type))
        for (const auto &[key, key_pause] : type->paused_keys)
            keys.push_back(key);
    return keys;
}

const Queue *Catalogue::find(int queue_id) const
{
    const auto found = queues.find(queue_id);
    return found == queues.end() ? nullptr : &found->second;
}

namespace {

constexpr std::string_view schema_prefix = "hipq.";

// Of queues that are not dropped. Moves as one: the keys point into its texts.
QueuesByName queues_by_name(const Catalogue &catalogue)
{
    QueuesByName names;
    names.texts.reserve(2 * catalogue.queues.size());
    const auto add_all = [&](const auto &name_of) {
        for (const auto &[id, queue] : catalogue.queues)
            if (!queue.is_dropped)
                names.queues.emplace(names.texts.emplace_back(name_of(queue)), &queue);
    };
    add_all([](const Queue &queue) { return queue.full_name(); });  // these come first
    add_all([](const Queue &queue) { return std::string(schema_prefix) + queue.table; });
    return names;
}

const Queue *find_in(const QueuesByName &names, std::string_view name)
{
    const auto found = names.queues.find(name);
    return found == names.queues.end() ? nullptr : found->second;
}

}  // namespace

const Queue *Catalogue::find(std::string_view full_name) const
{
    if (cached_catalogue != nullptr && cached_catalogue->catalogue.get() == this)
        return find_in(cached_catalogue->queues, full_name);
    const Queue *by_table = nullptr;
    for (const auto &[id, queue] : queues) {
        if (queue.is_dropped)
            continue;
        if (full_name.size() == queue.instance.size() + 1 + queue.name.size() &&
            full_name.starts_with(queue.instance) && full_name[queue.instance.size()] == '.' &&
            full_name.ends_with(queue.name))
            return &queue;
        if (full_name.starts_with(schema_prefix) &&
            full_name.substr(schema_prefix.size()) == queue.table)
            by_table = &queue;
    }
    return by_table;
}

namespace {

std::shared_ptr<const Catalogue> without_still_queues(const std::shared_ptr<const Catalogue> &whole)
{
    const auto stands_still = [](const auto &entry) { return entry.second.stands_still(); };
    if (std::none_of(whole->queues.begin(), whole->queues.end(), stands_still))
        return whole;
    auto working = std::make_shared<Catalogue>(*whole);
    std::erase_if(working->queues, stands_still);
    return working;
}

}  // namespace

std::shared_ptr<const Catalogue> catalogue()
{
    // A transaction that holds its locks already is told of changes by nobody else.
    pg::call([] { ::AcceptInvalidationMessages(); });
    if (cached_catalogue == nullptr)
        cached_catalogue = new CachedCatalogue{nullptr, 0, {}};
    for (int reads = 0; reads < max_reads; ++reads) {
        const Defaults defaults = present_defaults();
        if (cached_catalogue->catalogue != nullptr &&
            cached_catalogue->generation == catalogue_generation &&
            cached_catalogue->defaults == defaults)
            break;
        find_tables();
        const std::uint64_t generation_before = catalogue_generation;
        std::shared_ptr<const Catalogue> fresh = read_catalogue(job_id_sequence);
        std::shared_ptr<const Catalogue> working = without_still_queues(fresh);
        QueuesByName queues = queues_by_name(*fresh);
        *cached_catalogue = CachedCatalogue{std::move(fresh), generation_before, defaults,
                                            std::move(queues), std::move(working)};
    }
    return cached_catalogue->catalogue;
}

std::shared_ptr<const Catalogue> catalogue_with_locked_maps()
{
    if (cached_catalogue == nullptr || cached_catalogue->catalogue == nullptr)
        catalogue();
    if (OidIsValid(map_table))
        pg::call([] { ::LockRelationOid(map_table, RowShareLock); });
    return catalogue();
}

bool are_maps_settled()
{
    return !OidIsValid(map_table) || pg::call([] {
        if (!::ConditionalLockRelationOid(map_table, ShareLock))
            return false;
        ::UnlockRelationOid(map_table, ShareLock);
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
    type.max_retries = settings::max_retries;
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

void watch_catalogue()
{
    ::CacheRegisterRelcacheCallback(forget_catalogue, Datum{0});
}

Oid live_leaf(const Queue &queue)
{
    const std::string name = queue.live_table();
    return pg::call(
        [&] { return ::get_relname_relid(name.c_str(), ::get_namespace_oid("hipq", false)); });
}

}  // namespace hipq::catalog
