// Reads queues, job types and pauses from their tables.
//
// Each field stands next to the member that it fills; a member that NULL leaves alone has the value
// of the settings.
#include "read_catalogue.hpp"

#include "catalog/job_parameters.hpp"
#include "catalog/timeline.hpp"
#include "pg/fields.hpp"
#include "pg/transaction.hpp"
#include "settings.hpp"

#include <charconv>

namespace hipq::catalog {

namespace {

using pg::field;
using pg::Value;

// An interval in microseconds, cut at 100 years so that none overflows. (least() alone would take
// NULL for 100 years.)
#define HIPQ_MICROSECONDS(interval)                                                                \
    "CASE WHEN " interval " IS NOT NULL THEN (least(extract(epoch FROM " interval                  \
    "), 3155760000) * 1000000)::bigint END"

// ---- queues ----

void fill_retention(Queue &queue, const Value &value)
{
    queue.keeps_successes = value.integer() != 0;
    if (queue.keeps_successes)
        queue.retention = value.integer();
}

void fill_shard_key(Queue &queue, const Value &value)
{
    queue.shard_key_text = value.text();
    queue.shard_key = core::parse_shard_key(queue.shard_key_text);
}

void fill_unique_scope(Queue &queue, const Value &value)
{
    queue.placement.unique_scope =
        core::parse_unique_scope(value.text()).value_or(core::UniqueScope::everywhere);
}

void fill_throttle_mode(Queue &queue, const Value &value)
{
    queue.has_shared_mode = value.text() == "shared";
}

constexpr std::array queue_fields{
    field<&Queue::id>("queue.queue_id"),
    field<&Queue::instance_id>("queue.instance_id"),
    field<&Queue::instance>("instance.name"),
    field<&Queue::name>("queue.name"),
    field<&Queue::owner>("queue.owner::oid"),
    field<&Queue::table>("queue.table_name"),
    field<&Queue::is_strict>("coalesce(queue.is_strict, instance.is_strict)"),
    field<&Queue::is_dropped>("queue.is_dropped"),
    field<&Queue::history_all>("queue.history = 'all'"),
    field<&Queue::dead_letter_enabled>("queue.dead_letter_enabled"),
    pg::Field<Queue>{HIPQ_MICROSECONDS("queue.retention"), fill_retention},
    field<&Queue::dead_letter_retention>(HIPQ_MICROSECONDS("queue.dead_letter_retention")),
    field<&Queue::queue_ttl>("queue.queue_ttl"),
    field<&Queue::commits_in_groups>("queue.durability = 'group'"),
    field<&Queue::throttle_limit>("(queue.throttle_limit * 1000)::bigint"),
    field<&Queue::weight>("queue.weight"),
    field<&Queue::dead_letter_max>("queue.dead_letter_max"),
    field<&Queue::dead_letter_handler>("queue.dead_letter_handler"),
    field<&Queue::dead_letter_crashes>("cardinality(queue.dead_letter_crash_times)"),
    field<&Queue::caps, &core::JobCaps::max_timeout>("queue.max_timeout"),
    field<&Queue::caps, &core::JobCaps::highest_priority>("queue.highest_priority"),
    field<&Queue::caps, &core::JobCaps::allows_free_jobs>("queue.allow_free_jobs"),
    field<&Queue::retry_enabled>("queue.retry_enabled"),
    pg::Field<Queue>{"queue.shard_key", fill_shard_key},
    pg::Field<Queue>{"queue.throttle_mode", fill_throttle_mode},
    pg::Field<Queue>{"queue.unique_scope", fill_unique_scope},
};

constinit pg::Selection<Queue> select_queues(queue_fields, R"(
    FROM hipq.queue AS queue
    JOIN hipq.instance AS instance USING (instance_id))");

Queue queue_by_settings()
{
    Queue queue{};
    queue.dead_letter_enabled = settings::dead_letter_enabled;
    queue.retention = settings::retention.microseconds();
    queue.keeps_successes = queue.retention != 0;
    queue.dead_letter_retention = settings::dead_letter_retention.microseconds();
    queue.dead_letter_max = settings::dead_letter_max;
    queue.caps.max_timeout = settings::max_timeout.whole_seconds();
    return queue;
}

Queue read_queue(const pg::Row &row)
{
    Queue queue = queue_by_settings();
    select_queues.fill(queue, row);
    return queue;
}

// ---- job types ----

struct JobTypeRow {
    JobType type;
    pg::RawValue parameters{JSONBOID, Datum{0}, true};  // NULL: it declares none
    bool checks_at_start;
};

template <auto... path>
constexpr pg::Field<JobTypeRow> type_field(const char *expression)
{
    return field<&JobTypeRow::type, path...>(expression);
}

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

void fill_handler_kind(JobTypeRow &row, const Value &value)
{
    row.type.handler_kind = parse_handler_kind(value.text());
}

void fill_retry_on(JobTypeRow &row, const Value &value)
{
    row.type.retry_on = split(value.text());
}

void fill_do_not_retry_on(JobTypeRow &row, const Value &value)
{
    row.type.do_not_retry_on = split(value.text());
}

void fill_claim(JobTypeRow &row, const Value &value)
{
    row.type.claim = core::parse_claim_rule(value.text()).value_or(core::ClaimRule::automatic);
}

using TypeField = pg::Field<JobTypeRow>;

constexpr std::array job_type_fields{
    type_field<&JobType::queue_id>("queue_id"),
    type_field<&JobType::name>("name"),
    type_field<&JobType::handler>("handler"),
    TypeField{"handler_kind", fill_handler_kind},
    type_field<&JobType::retry_handler>("retry_handler"),
    type_field<&JobType::default_timeout>("default_timeout"),
    type_field<&JobType::default_priority>("default_priority"),
    type_field<&JobType::default_throttle_factor>("default_throttle_factor::text"),
    type_field<&JobType::default_time_windows>("default_time_windows::text"),
    type_field<&JobType::max_retries>("max_retries"),
    type_field<&JobType::policy, &core::RetryPolicy::base>(HIPQ_MICROSECONDS("retry_base")),
    type_field<&JobType::policy, &core::RetryPolicy::multiplier>("retry_multiplier"),
    type_field<&JobType::policy, &core::RetryPolicy::max>(HIPQ_MICROSECONDS("retry_max")),
    type_field<&JobType::policy, &core::RetryPolicy::jitter>("retry_jitter"),
    TypeField{"array_to_string(retry_on, ',')", fill_retry_on},
    TypeField{"array_to_string(do_not_retry_on, ',')", fill_do_not_retry_on},
    type_field<&JobType::fails_without_handler>("on_missing_handler = 'fail'"),
    type_field<&JobType::queue_ttl>("queue_ttl"),
    TypeField{"claim", fill_claim},
    type_field<&JobType::batch_size>("batch_size"),
    type_field<&JobType::throttle_limit>("(throttle_limit * 1000)::bigint"),
    type_field<&JobType::throttle_limit_per_key>("(throttle_limit_per_key * 1000)::bigint"),
    type_field<&JobType::time_zone>("time_zone"),
    type_field<&JobType::worker_wait_ttl>("worker_wait_ttl"),
    type_field<&JobType::is_registered>("is_registered"),
    type_field<&JobType::retry_enabled>("retry_enabled"),
    type_field<&JobType::attempt_log>("attempt_log"),
    field<&JobTypeRow::parameters>("nullif(parameters, '{}')"),
    field<&JobTypeRow::checks_at_start>("validate = 'run'"),
};

constinit pg::Selection<JobTypeRow> select_job_types(job_type_fields, "FROM hipq.job_type");

JobType type_by_settings()
{
    JobType type{};
    type.default_timeout = settings::default_timeout.whole_seconds();
    type.max_retries = settings::max_retries;
    type.policy = default_policy();
    type.claim = core::ClaimRule::automatic;
    return type;
}

JobType read_job_type(const pg::Row &row)
{
    JobTypeRow whole{};
    whole.type = type_by_settings();
    select_job_types.fill(whole, row);
    if (!whole.parameters.null)
        whole.type.parameters = read_job_parameters(whole.parameters.value, whole.checks_at_start);
    return std::move(whole.type);
}

// ---- pauses ----

struct PauseRow {
    int queue_id;
    bool is_of_instance;
    std::optional<std::string> job_type;
    std::optional<std::string> throttle_key;
    Pause pause;
};

constexpr std::array pause_fields{
    field<&PauseRow::queue_id>("queue.queue_id"),
    field<&PauseRow::is_of_instance>("pause.instance_id IS NOT NULL"),
    field<&PauseRow::job_type>("pause.job_type"),
    field<&PauseRow::throttle_key>("pause.throttle_key"),
    field<&PauseRow::pause, &Pause::by>("pause.paused_by"),
    field<&PauseRow::pause, &Pause::since>("pause.paused_time"),
    field<&PauseRow::pause, &Pause::reason>("pause.reason"),
    field<&PauseRow::pause, &Pause::crashes>("pause.crashes"),
};

// Of an instance: a row for each of its queues.
constinit pg::Selection<PauseRow> select_pauses(pause_fields, R"(
    FROM hipq.pause AS pause
    JOIN hipq.queue AS queue ON queue.queue_id = pause.queue_id OR queue.instance_id = pause.instance_id)");

// Pauses of what is not there, as of a type that was dropped and is being restored, pause nothing.
void add_pause(Queue &queue, const PauseRow &row)
{
    const auto type = queue.job_types.find(row.job_type.value_or(""));
    if (row.is_of_instance)
        queue.instance_pause = row.pause;
    else if (!row.job_type.has_value())
        queue.pause = row.pause;
    else if (type != queue.job_types.end() && !row.throttle_key.has_value())
        type->second.pause = row.pause;
    else if (type != queue.job_types.end())
        type->second.paused_keys.emplace(*row.throttle_key, row.pause);
}

// ---- all of it ----

void read_queues(Catalogue &catalogue)
{
    for (const pg::Row row : select_queues.run_latest()) {
        Queue queue = read_queue(row);
        const int id = queue.id;
        catalogue.queues.emplace(id, std::move(queue));
    }
}

void read_job_types(Catalogue &catalogue)
{
    for (const pg::Row row : select_job_types.run_latest()) {
        JobType type = read_job_type(row);
        const auto queue = catalogue.queues.find(
            type.queue_id);  // gone when it was dropped between the two statements
        if (queue == catalogue.queues.end())
            continue;
        std::string name = type.name;
        queue->second.unregistered_types += type.is_registered ? 0 : 1;
        queue->second.job_types.emplace(std::move(name), std::move(type));
    }
}

void read_pauses(Catalogue &catalogue)
{
    for (const pg::Row row : select_pauses.run_latest()) {
        const PauseRow pause = select_pauses.read(row);
        if (const auto queue = catalogue.queues.find(pause.queue_id);
            queue != catalogue.queues.end())
            add_pause(queue->second, pause);
    }
}

constinit pg::Statement select_holds(
    "SELECT hold.queue_id, hold.subscription, hold.held_time FROM hipq.queue_hold AS hold");

void read_holds(Catalogue &catalogue)
{
    for (const pg::Row row : select_holds.run_latest())
        if (const auto queue = catalogue.queues.find(row.integer32(0));
            queue != catalogue.queues.end())
            queue->second.hold = QueueHold{row.text(1), row.time(2)};
}

// ---- shards ----

constinit pg::Statement select_maps(R"(
    SELECT map.instance_id, map.own_node, array_to_string(map.nodes, ','),
           EXISTS (SELECT FROM hipq.shard_leaving AS leaving WHERE leaving.instance_id = map.instance_id),
           'hipq_' || left(map.cluster::text, 8), map.timeline,
           EXISTS (SELECT FROM hipq.shard_move AS move
                   WHERE move.instance_id = map.instance_id AND map.own_node = 0 AND move.from_node <> 0 AND move.in_order <> '{}' AND NOT move.last_sent),
           EXISTS (SELECT FROM hipq.shard_coming AS coming
                   WHERE coming.instance_id = map.instance_id AND coming.in_order <> '{}' AND coming.busy_keys = '[]')
    FROM hipq.shard_map AS map)");

constinit pg::Statement select_coming(
    "SELECT coming.slot FROM hipq.shard_coming AS coming WHERE coming.instance_id = $1");

constinit pg::Statement select_leaving_in_order(R"(
    SELECT leaving.slot, queue.name
    FROM hipq.shard_leaving AS leaving
    CROSS JOIN unnest(leaving.in_order) AS queue (name)
    WHERE leaving.instance_id = $1)");
constinit pg::Statement select_coming_in_order(R"(
    SELECT coming.slot, queue.name
    FROM hipq.shard_coming AS coming
    CROSS JOIN unnest(coming.in_order) AS queue (name)
    WHERE coming.instance_id = $1)");

using SlotsOfQueues = std::map<std::string, std::shared_ptr<SlotSet>>;

SlotsOfQueues slots_in_order(pg::Statement &select, int instance_id)
{
    SlotsOfQueues slots;
    for (const pg::Row row : select.run_latest(instance_id)) {
        std::shared_ptr<SlotSet> &of_queue = slots[row.text(1)];
        if (of_queue == nullptr)
            of_queue = std::make_shared<SlotSet>();
        of_queue->set(static_cast<std::size_t>(row.integer32(0)));
    }
    return slots;
}

void read_slots_in_order(Catalogue &catalogue, int instance_id)
{
    const SlotsOfQueues leaving = slots_in_order(select_leaving_in_order, instance_id);
    const SlotsOfQueues coming = slots_in_order(select_coming_in_order, instance_id);
    const auto find = [](const SlotsOfQueues &slots, const Queue &queue) {
        const auto found = slots.find(queue.name);
        return found == slots.end() ? nullptr : found->second;
    };
    for (auto &[id, queue] : catalogue.queues)
        if (queue.instance_id == instance_id) {
            queue.leaving_in_order = find(leaving, queue);
            queue.coming_in_order = find(coming, queue);
        }
}

// Numbers with commas between them.
void read_map(core::SlotMap &map, const std::string &text)
{
    const char *next = text.data();
    const char *end = next + text.size();
    for (std::int16_t &node : map) {
        next = std::from_chars(next, end, node).ptr;
        next += next < end ? 1 : 0;
    }
}

// Jobs that share a limit have to be on one node, which keeps it, unless nodes share it.
bool has_limit(const Queue &queue)
{
    constexpr core::Weight smallest = 1'000;
    return queue.throttle_limit >= smallest ||
           std::ranges::any_of(queue.job_types, [](const auto &entry) {
               return entry.second.throttle_limit >= smallest ||
                      entry.second.throttle_limit_per_key >= smallest;
           });
}

void read_maps(Catalogue &catalogue)
{
    for (const pg::Row row : select_maps.run_latest()) {
        auto shards = std::make_shared<Shards>();
        shards->instance_id = row.integer32(0);
        shards->own_node = row.integer32(1);
        shards->has_leaving = row.boolean(3);
        shards->channel = row.text(4);
        shards->is_in_step = is_own_timeline(row.text(5));
        shards->awaits_last = row.boolean(6);
        shards->is_settling = row.boolean(7);
        read_map(shards->map, row.text(2));
        for (const pg::Row coming : select_coming.run_latest(shards->instance_id))
            shards->coming.set(static_cast<std::size_t>(coming.integer32(0)));
        for (auto &[id, queue] : catalogue.queues)
            if (queue.instance_id == row.integer32(0)) {
                queue.shards = shards;
                queue.placement.throttle_mode = has_limit(queue) && !queue.has_shared_mode
                                                    ? core::ThrottleMode::home
                                                    : core::ThrottleMode::permits;
            }
        read_slots_in_order(catalogue, shards->instance_id);
    }
}

}  // namespace

core::RetryPolicy default_policy()
{
    return {settings::retry_base.microseconds(), settings::retry_multiplier,
            settings::retry_max.microseconds(), settings::retry_jitter};
}

std::shared_ptr<const Catalogue> read_catalogue(Oid job_ids)
{
    auto result = std::make_shared<Catalogue>();
    result->job_ids = job_ids;
    pg::as_extension_owner([&] {
        read_queues(*result);
        read_job_types(*result);
        read_pauses(*result);
        read_holds(*result);
        read_maps(*result);
    });
    return result;
}

}  // namespace hipq::catalog
