// The catalogue of this process: read whole, handed out as shared constant copies, read again after
// a change of the tables or settings.
//
// A change reaches every process as a relcache invalidation of hipq.queue, hipq.job_type or
// hipq.pause, which their triggers send. The settings are part of what a type or queue says, so the
// cache also holds the values it was made with.
#include "cache.hpp"

#include "catalog/job_parameters.hpp"
#include "pg/time_zone.hpp"
#include "pg/transaction.hpp"
#include "settings.hpp"

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
    bool operator==(const Defaults &) const = default;
};

Defaults present_defaults()
{
    return {
        settings::default_timeout,     settings::max_timeout,      settings::max_retries,
        settings::retry_base,          settings::retry_multiplier, settings::retry_max,
        settings::retry_jitter,        settings::retention,        settings::dead_letter_retention,
        settings::dead_letter_enabled, settings::dead_letter_max};
}

struct Cache {
    std::shared_ptr<const Catalogue> catalogue;
    std::uint64_t generation;
    Defaults defaults;
};

// On the heap and never freed, because globals have no destructors.
constinit Cache *cache = nullptr;
// Grows with each invalidation.
constinit std::uint64_t generation = 0;
constinit Oid queue_table = InvalidOid;
constinit Oid job_type_table = InvalidOid;
constinit Oid pause_table = InvalidOid;
constinit Oid instance_table = InvalidOid;
constinit Oid job_id_sequence = InvalidOid;

// A process that reads while others write tries this often before it takes what it has; the next
// call reads again.
constexpr int max_reads = 5;

void forget(Datum, Oid relation) noexcept
{
    if (!OidIsValid(relation) || relation == queue_table || relation == job_type_table ||
        relation == pause_table || relation == instance_table)
        ++generation;
}

// Intervals in microseconds, cut at 100 years so that no interval overflows. (least() alone would
// take NULL for 100 years.)
constinit pg::Statement select_queues(R"(
    SELECT queue.queue_id, instance.name, queue.name, queue.owner::oid, queue.table_name, coalesce(queue.is_strict, instance.is_strict),
           queue.is_dropped,
           queue.history = 'all', queue.dead_letter_enabled,
           CASE WHEN queue.retention IS NOT NULL THEN (least(extract(epoch FROM queue.retention), 3155760000) * 1000000)::bigint END,
           CASE WHEN queue.dead_letter_retention IS NOT NULL
               THEN (least(extract(epoch FROM queue.dead_letter_retention), 3155760000) * 1000000)::bigint END,
           queue.queue_ttl, queue.durability = 'group', (queue.throttle_limit * 1000)::bigint,
           queue.weight, queue.dead_letter_max, queue.dead_letter_handler, cardinality(queue.dead_letter_crash_times),
           queue.max_timeout, queue.highest_priority::integer, queue.allow_free_jobs, queue.retry_enabled
    FROM hipq.queue AS queue
    JOIN hipq.instance AS instance USING (instance_id))");

constinit pg::Statement select_job_types(R"(
    SELECT queue_id, name, handler, handler_kind, retry_handler, default_timeout, default_priority, default_throttle_factor::text,
           default_time_windows::text, max_retries,
           CASE WHEN retry_base IS NOT NULL THEN (least(extract(epoch FROM retry_base), 3155760000) * 1000000)::bigint END, retry_multiplier,
           CASE WHEN retry_max IS NOT NULL THEN (least(extract(epoch FROM retry_max), 3155760000) * 1000000)::bigint END, retry_jitter,
           array_to_string(retry_on, ','), array_to_string(do_not_retry_on, ','), on_missing_handler = 'fail', queue_ttl, claim, batch_size,
           (throttle_limit * 1000)::bigint, (throttle_limit_per_key * 1000)::bigint, time_zone, worker_wait_ttl,
           is_registered, retry_enabled, nullif(parameters, '{}'), validate = 'run'
    FROM hipq.job_type)");

// Of an instance: a row for each of its queues.
constinit pg::Statement select_pauses(R"(
    SELECT queue.queue_id, pause.instance_id IS NOT NULL, pause.job_type, pause.throttle_key, pause.paused_by, pause.paused_time, pause.reason,
           pause.crashes
    FROM hipq.pause AS pause
    JOIN hipq.queue AS queue ON queue.queue_id = pause.queue_id OR queue.instance_id = pause.instance_id)");

// The entries of a list joined with commas; entries hold none (core::is_valid_rule).
std::vector<std::string> split(std::string_view list)
{
    std::vector<std::string> entries;
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        entries.emplace_back(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return entries;
}

std::optional<int> maybe_int(const pg::Row &row, int column)
{
    return row.null(column) ? std::nullopt : std::optional(row.integer32(column));
}

std::optional<bool> maybe_boolean(const pg::Row &row, int column)
{
    return row.null(column) ? std::nullopt : std::optional(row.boolean(column));
}

core::RetryPolicy default_policy()
{
    return {settings::retry_base.microseconds(), settings::retry_multiplier,
            settings::retry_max.microseconds(), settings::retry_jitter};
}

core::JobCaps caps_of(std::optional<int> max_timeout, std::optional<int> highest_priority,
                      bool allows_free_jobs)
{
    core::JobCaps caps{};
    caps.max_timeout = max_timeout.value_or(settings::max_timeout.whole_seconds());
    caps.highest_priority = highest_priority.value_or(static_cast<int>(caps.highest_priority));
    caps.allows_free_jobs = allows_free_jobs;
    return caps;
}

Queue read_queue(const pg::Row &row)
{
    Queue queue{};
    queue.id = row.integer32(0);
    queue.instance = row.text(1);
    queue.name = row.text(2);
    queue.owner = row.oid(3);
    queue.table = row.text(4);
    queue.is_strict = row.boolean(5);
    queue.is_dropped = row.boolean(6);
    queue.history_all = row.boolean(7);
    queue.dead_letter_enabled = row.null(8) ? settings::dead_letter_enabled : row.boolean(8);
    const std::int64_t retention = settings::retention.microseconds();
    queue.keeps_successes = row.maybe_integer(9).value_or(retention) != 0;
    queue.retention = queue.keeps_successes ? row.maybe_integer(9).value_or(retention) : retention;
    queue.dead_letter_retention =
        row.maybe_integer(10).value_or(settings::dead_letter_retention.microseconds());
    queue.queue_ttl = maybe_int(row, 11);
    queue.commits_in_groups = row.boolean(12);
    queue.throttle_limit = row.integer(13);
    queue.weight = row.integer32(14);
    queue.dead_letter_max = row.maybe_integer(15).value_or(settings::dead_letter_max);
    queue.dead_letter_handler = row.text(16);
    queue.dead_letter_crashes = row.integer32(17);
    queue.caps = caps_of(maybe_int(row, 18), maybe_int(row, 19), row.boolean(20));
    queue.retry_enabled = maybe_boolean(row, 21);
    return queue;
}

JobType read_job_type(const pg::Row &row)
{
    const core::RetryPolicy policy = default_policy();
    JobType type{};
    type.queue_id = row.integer32(0);
    type.name = row.text(1);
    type.handler = row.text(2);
    type.handler_kind = parse_handler_kind(row.text(3));
    type.retry_handler = row.text(4);
    type.default_timeout = maybe_int(row, 5).value_or(settings::default_timeout.whole_seconds());
    type.default_priority = row.integer32(6);
    type.default_throttle_factor = row.text(7);
    type.default_time_windows = row.text(8);
    type.max_retries = maybe_int(row, 9).value_or(settings::max_retries);
    type.policy.base = row.maybe_integer(10).value_or(policy.base);
    type.policy.multiplier = row.null(11) ? policy.multiplier : row.number(11);
    type.policy.max = row.maybe_integer(12).value_or(policy.max);
    type.policy.jitter = row.null(13) ? policy.jitter : row.number(13);
    type.retry_on = split(row.text(14));
    type.do_not_retry_on = split(row.text(15));
    type.fails_without_handler = row.boolean(16);
    type.queue_ttl = maybe_int(row, 17);
    type.claim = core::parse_claim_rule(row.text(18)).value_or(core::ClaimRule::automatic);
    type.batch_size = row.integer32(19);
    type.throttle_limit = row.integer(20);
    type.throttle_limit_per_key = row.integer(21);
    type.time_zone = row.text(22);
    type.worker_wait_ttl = maybe_int(row, 23);
    type.is_registered = row.boolean(24);
    type.retry_enabled = maybe_boolean(row, 25);
    if (!row.null(26))
        type.parameters = read_job_parameters(row.datum(26), row.boolean(27));
    return type;
}

// Pauses of what is not there, as of a type that was dropped and is being restored, pause nothing.
void add_pause(Queue &queue, const pg::Row &row)
{
    const auto type = queue.job_types.find(row.text(2));
    const Pause pause{row.text(4), row.time(5), row.text(6), maybe_int(row, 7)};
    if (row.boolean(1))
        queue.instance_pause = pause;
    else if (row.null(2))
        queue.pause = pause;
    else if (type != queue.job_types.end() && row.null(3))
        type->second.pause = pause;
    else if (type != queue.job_types.end())
        type->second.paused_keys.emplace(row.text(3), pause);
}

std::shared_ptr<const Catalogue> read_catalogue()
{
    auto result = std::make_shared<Catalogue>();
    result->job_ids = job_id_sequence;
    pg::as_extension_owner([&] {
        for (const pg::Row row : select_queues.run_latest()) {
            Queue queue = read_queue(row);
            const int id = queue.id;
            result->queues.emplace(id, std::move(queue));
        }
        for (const pg::Row row : select_job_types.run_latest()) {
            JobType type = read_job_type(row);
            const auto queue = result->queues.find(
                type.queue_id);  // gone when it was dropped between the two statements
            if (queue != result->queues.end()) {
                std::string name = type.name;
                queue->second.unregistered_types += type.is_registered ? 0 : 1;
                queue->second.job_types.emplace(std::move(name), std::move(type));
            }
        }
        for (const pg::Row row : select_pauses.run_latest())
            if (const auto queue = result->queues.find(row.integer32(0));
                queue != result->queues.end())
                add_pause(queue->second, row);
    });
    return result;
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

std::string Queue::qualified_live_table() const
{
    return qualified(table + "_live");
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

const Queue *Catalogue::find(std::string_view full_name) const
{
    constexpr std::string_view schema = "hipq.";
    const Queue *by_table = nullptr;
    for (const auto &[id, queue] : queues) {
        if (queue.is_dropped)
            continue;
        if (full_name.size() == queue.instance.size() + 1 + queue.name.size() &&
            full_name.starts_with(queue.instance) && full_name[queue.instance.size()] == '.' &&
            full_name.ends_with(queue.name))
            return &queue;
        if (full_name.starts_with(schema) && full_name.substr(schema.size()) == queue.table)
            by_table = &queue;
    }
    return by_table;
}

std::shared_ptr<const Catalogue> catalogue()
{
    // A transaction that holds its locks already is told of changes by nobody else.
    pg::call([] { ::AcceptInvalidationMessages(); });
    if (cache == nullptr)
        cache = new Cache{nullptr, 0, {}};
    for (int reads = 0; reads < max_reads; ++reads) {
        const Defaults defaults = present_defaults();
        if (cache->catalogue != nullptr && cache->generation == generation &&
            cache->defaults == defaults)
            break;
        find_tables();
        const std::uint64_t generation_before = generation;
        std::shared_ptr<const Catalogue> fresh = read_catalogue();
        *cache = Cache{std::move(fresh), generation_before, defaults};
    }
    return cache->catalogue;
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
    ::CacheRegisterRelcacheCallback(forget, Datum{0});
}

Oid live_leaf(const Queue &queue)
{
    const std::string name = queue.table + "_live";
    return pg::call(
        [&] { return ::get_relname_relid(name.c_str(), ::get_namespace_oid("hipq", false)); });
}

}  // namespace hipq::catalog
