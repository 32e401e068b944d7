// Reads queues, with their own pauses, from their tables.
//
// Each field of a query is listed next to the member that it fills. A member whose field is NULL
// keeps the value of the settings.
#include "catalog/reading/read_catalogue.hpp"

#include "catalog/timeline.hpp"
#include "core/limits/rate_text.hpp"
#include "pg/fields.hpp"
#include "pg/transaction.hpp"
#include "settings.hpp"

#include <charconv>

namespace hipq::catalog {

namespace {

using pg::field;
using pg::Value;

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
    queue.unique_scope =
        core::parse_unique_scope(value.text()).value_or(core::UniqueScope::everywhere);
}

void fill_throttle_mode(Queue &queue, const Value &value)
{
    queue.has_shared_mode = value.text() == "shared";
}

void fill_queue_rate(Queue &queue, const Value &value)
{
    fill_rate(queue.rate, value.text());
}

void fill_queue_rate_mode(Queue &queue, const Value &value)
{
    fill_rate_mode(queue.rate, value.text());
}

constexpr std::array queue_fields{
    field<&Queue::id>("queue.queue_id"),
    field<&Queue::instance_id>("queue.instance_id"),
    field<&Queue::instance>("instance.name"),
    field<&Queue::name>("queue.name"),
    field<&Queue::owner>("queue.owner::oid"),
    field<&Queue::table>("queue.table_name"),
    field<&Queue::has_waits>("EXISTS (SELECT FROM pg_attribute WHERE attrelid = "
                             "'hipq.job'::regclass AND attname = 'waits_for')"),
    field<&Queue::is_strict>("coalesce(queue.is_strict, instance.is_strict)"),
    field<&Queue::is_dropped>("queue.is_dropped"),
    field<&Queue::history_all>("queue.history = 'all'"),
    field<&Queue::dead_letter_enabled>("queue.dead_letter_enabled"),
    pg::Field<Queue>{HIPQ_MICROSECONDS("queue.retention"), fill_retention},
    field<&Queue::dead_letter_retention>(HIPQ_MICROSECONDS("queue.dead_letter_retention")),
    field<&Queue::queue_ttl>("queue.queue_ttl"),
    // Tables of 0.2.0 lack these columns; the names then refer to the columns of `absent`.
    field<&Queue::worker_wait_ttl>("(SELECT worker_wait_ttl FROM (SELECT queue.*) AS present)"),
    field<&Queue::max_retries>("coalesce((SELECT max_retries FROM (SELECT queue.*) AS present), "
                               "(SELECT max_retries FROM (SELECT instance.*) AS present))"),
    field<&Queue::commits_in_groups>("queue.durability = 'group'"),
    field<&Queue::throttle_limit>("(queue.throttle_limit * 1000)::bigint"),
    pg::Field<Queue>{"(SELECT rate_limit FROM (SELECT queue.*) AS present)", fill_queue_rate},
    pg::Field<Queue>{"(SELECT rate_mode FROM (SELECT queue.*) AS present)", fill_queue_rate_mode},
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

#define HIPQ_FROM_QUEUES                                                                           \
    "FROM hipq.queue AS queue JOIN hipq.instance AS instance USING (instance_id) "                 \
    "CROSS JOIN (SELECT NULL::integer AS worker_wait_ttl, NULL::integer AS max_retries, "          \
    "NULL AS rate_limit, NULL AS rate_mode) AS absent"

constinit pg::Selection<Queue> select_queues(queue_fields, HIPQ_FROM_QUEUES);
constinit pg::Selection<Queue> select_some_queues(queue_fields, HIPQ_FROM_QUEUES
                                                  " WHERE queue.queue_id = ANY ($1)");

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

void add_queues(QueuesByNumber &queues, const pg::Rows &rows)
{
    for (const pg::Row row : rows) {
        auto queue = std::make_shared<Queue>(read_queue(row));
        const int id = queue->id;
        queues.emplace(id, std::move(queue));
    }
}

// ---- pauses and holds ----

struct QueuePauseRow {
    int queue_id;
    bool is_of_instance;
    Pause pause;
};

constexpr std::array queue_pause_fields{
    field<&QueuePauseRow::queue_id>("queue.queue_id"),
    field<&QueuePauseRow::is_of_instance>("pause.instance_id IS NOT NULL"),
    field<&QueuePauseRow::pause, &Pause::by>("pause.paused_by"),
    field<&QueuePauseRow::pause, &Pause::since>("pause.paused_time"),
    field<&QueuePauseRow::pause, &Pause::reason>("pause.reason"),
    field<&QueuePauseRow::pause, &Pause::crashes>("pause.crashes"),
    field<&QueuePauseRow::pause, &Pause::until>("pause.paused_until"),
};

// The queries skip pauses within queues, which can be very many: the rows of a queue and those of
// an instance are each found by an index. A pause of an instance gives a row for each of its
// queues. Columns are qualified with their tables, so that an error can say which table lacks one
// (pg/version_mismatch.hpp). Tables of 0.2.0 lack the end of a pause, as above.
#define HIPQ_FROM_PAUSES                                                                           \
    "FROM hipq.queue AS queue CROSS JOIN (SELECT NULL::timestamptz AS paused_until) AS absent "    \
    "CROSS JOIN LATERAL ("                                                                         \
    "SELECT own.instance_id, own.paused_by, own.paused_time, own.reason, own.crashes, "            \
    "(SELECT paused_until FROM (SELECT own.*) AS present) AS paused_until "                        \
    "FROM hipq.pause AS own "                                                                      \
    "WHERE own.queue_id = queue.queue_id AND own.job_type IS NULL "                                \
    "UNION ALL "                                                                                   \
    "SELECT whole.instance_id, whole.paused_by, whole.paused_time, whole.reason, whole.crashes, "  \
    "(SELECT paused_until FROM (SELECT whole.*) AS present) AS paused_until "                      \
    "FROM hipq.pause AS whole "                                                                    \
    "WHERE whole.queue_id IS NULL AND whole.instance_id = queue.instance_id) AS pause"

constinit pg::Selection<QueuePauseRow> select_queue_pauses(queue_pause_fields, HIPQ_FROM_PAUSES);
constinit pg::Selection<QueuePauseRow> select_some_queue_pauses(queue_pause_fields, HIPQ_FROM_PAUSES
                                                                " WHERE queue.queue_id = ANY ($1)");

void add_pauses(QueuesByNumber &queues, const pg::Rows &rows)
{
    for (const pg::Row row : rows) {
        QueuePauseRow paused = select_queue_pauses.read(row);
        if (const auto queue = queues.find(paused.queue_id); queue != queues.end())
            (paused.is_of_instance ? queue->second->instance_pause : queue->second->pause) =
                std::move(paused.pause);
    }
}

constinit pg::Statement select_holds(
    "SELECT hold.queue_id, hold.subscription, hold.held_time FROM hipq.queue_hold AS hold");

void add_holds(QueuesByNumber &queues)
{
    for (const pg::Row row : select_holds.run_latest())
        if (const auto queue = queues.find(row.integer32(0)); queue != queues.end())
            queue->second->hold = QueueHold{row.text(1), row.time(2)};
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

void read_slots_in_order(const QueuesByNumber &queues, int instance_id)
{
    const SlotsOfQueues leaving = slots_in_order(select_leaving_in_order, instance_id);
    const SlotsOfQueues coming = slots_in_order(select_coming_in_order, instance_id);
    const auto find = [](const SlotsOfQueues &slots, const Queue &queue) {
        const auto found = slots.find(queue.name);
        return found == slots.end() ? nullptr : found->second;
    };
    for (const auto &[id, queue] : queues)
        if (queue->instance_id == instance_id) {
            queue->leaving_in_order = find(leaving, *queue);
            queue->coming_in_order = find(coming, *queue);
        }
}

// Parses numbers separated by commas.
void read_map(core::SlotMap &map, const std::string &text)
{
    const char *next = text.data();
    const char *end = next + text.size();
    for (std::int16_t &node : map) {
        next = std::from_chars(next, end, node).ptr;
        next += next < end ? 1 : 0;
    }
}

void read_maps(const QueuesByNumber &queues)
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
        for (const auto &[id, queue] : queues)
            if (queue->instance_id == shards->instance_id)
                queue->shards = shards;
        read_slots_in_order(queues, shards->instance_id);
    }
}

}  // namespace

void fill_rate(core::Rate &rate, std::string_view text)
{
    const auto parsed = core::parse_rate(text);  // 'NONE' is none
    if (const auto *present = std::get_if<core::Rate>(&parsed)) {
        rate.weight = present->weight;
        rate.period = present->period;
    }
}

void fill_rate_mode(core::Rate &rate, std::string_view text)
{
    rate.mode = core::parse_rate_mode(text).value_or(core::RateMode::exact);
}

QueuesByNumber read_all_queues()
{
    QueuesByNumber queues;
    pg::as_extension_owner([&] {
        add_queues(queues, select_queues.run_latest());
        add_pauses(queues, select_queue_pauses.run_latest());
        add_holds(queues);
        read_maps(queues);
    });
    return queues;
}

QueuesByNumber read_queues(const std::vector<std::int64_t> &ids)
{
    QueuesByNumber queues;
    pg::as_extension_owner([&] {
        add_queues(queues, select_some_queues.run_latest(ids));
        add_pauses(queues, select_some_queue_pauses.run_latest(ids));
        add_holds(queues);
    });
    return queues;
}

std::optional<int> read_number(std::string_view full_name)
{
    static constinit pg::Statement select_number(R"(
        SELECT queue.queue_id
        FROM hipq.queue AS queue
        JOIN hipq.instance AS instance USING (instance_id)
        WHERE instance.name = $1 AND queue.name = $2 AND NOT queue.is_dropped
        UNION ALL
        SELECT queue.queue_id
        FROM hipq.queue AS queue
        WHERE $1 = 'hipq' AND queue.table_name = $2 AND NOT queue.is_dropped
        LIMIT 1)");
    const std::size_t dot = full_name.find('.');
    if (dot == std::string_view::npos)
        return std::nullopt;
    const pg::Rows rows = pg::as_extension_owner([&] {
        return select_number.run_latest(full_name.substr(0, dot), full_name.substr(dot + 1));
    });
    return rows.empty() ? std::nullopt : std::optional(rows.front().integer32(0));
}

bool all_queues_are_simple()
{
    static constinit pg::Statement has_others(
        "SELECT EXISTS (SELECT FROM hipq.queue_hold) OR EXISTS (SELECT FROM hipq.shard_map)");
    return !pg::as_extension_owner([] { return has_others.run_latest().front().boolean(0); });
}

}  // namespace hipq::catalog
