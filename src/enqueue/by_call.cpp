// Enqueues jobs for enqueue() and enqueue_many(): without SQL, or by INSERT where that is not
// possible.
#include "enqueue/enqueue.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "catalog/rights.hpp"
#include "core/job/unique_key.hpp"
#include "core/job/validate.hpp"
#include "enqueue/after.hpp"
#include "enqueue/direct.hpp"
#include "enqueue/new_job.hpp"
#include "enqueue/on_duplicate.hpp"
#include "enqueue/remote_jobs.hpp"
#include "job/job_row.hpp"
#include "pg/json_array.hpp"
#include "pg/transaction.hpp"

namespace hipq::enqueue {

namespace {

#define HIPQ_OPTION_COLUMNS                                                                        \
    "job_type, scheduled_run_time, priority, timeout, throttle_factor, time_windows, "             \
    "max_retries, expires_time, throttle_key, "                                                    \
    "queue_ttl"
#define HIPQ_OPTION_VALUES "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10"

constexpr const char *insert_one_sql = "INSERT INTO {table} (" HIPQ_OPTION_COLUMNS
                                       ", job_data, job_key, id) VALUES (" HIPQ_OPTION_VALUES
                                       ", $11, $12, $13) ON CONFLICT DO NOTHING RETURNING id";

// Jobs with a key come first, in the order of their keys and scopes; then jobs without key in the
// order given.
constexpr const char *insert_many_sql =
    "INSERT INTO {table} (" HIPQ_OPTION_COLUMNS ", job_data, job_key) SELECT " HIPQ_OPTION_VALUES
    R"(, element.data, element.key
    FROM (
        SELECT given.data, nullif(given.key, 'NONE') AS key, {+given.scope, +}given.position
        FROM unnest($11::jsonb[], $12::text[]{+, $13::text[]+}) WITH ORDINALITY AS given (data, key, {+scope, +}position)
    ) AS element
    ORDER BY element.key COLLATE "C", {+element.scope COLLATE "C", +}element.position
    ON CONFLICT DO NOTHING
    RETURNING id, job_key{+, shard_key+})";

constexpr const char *holder_id_sql =
    "SELECT job.id FROM {live} AS job WHERE {holder job} AND job.job_type = $1 AND job.job_key = $2"
    "{+ AND job.job_key <> 'NONE' AND job.shard_key COLLATE \"C\" = $3+}";

template <class... Rest>
pg::Rows insert(const catalog::Queue &queue, const char *sql, const JobOptions &options,
                const Rest &...rest)
{
    return pg::as_extension_owner([&] {
        return catalog::statement_for(queue, sql)
            .run(options.type, options.scheduled_run_time, options.priority, options.timeout,
                 options.throttle_factor, options.time_windows, options.max_retries,
                 options.expires_time, options.throttle_key, options.queue_ttl, rest...);
    });
}

// The unfinished job that holds a key, if it still does.
std::optional<std::int64_t> holder_of(const catalog::Queue &queue, const core::UniqueKey &key)
{
    const pg::Rows rows = pg::as_extension_owner([&] {
        return catalog::statement_for(queue, holder_id_sql).run(key.type, key.key, key.scope);
    });
    return rows.empty() ? std::nullopt : std::optional<std::int64_t>(rows.front().integer(0));
}

[[noreturn]] void refuse_duplicate(const catalog::Queue &queue, const core::UniqueKey &key,
                                   std::int64_t holder)
{
    const std::string name = queue.full_name();
    const std::string type(key.type);
    std::string shown = "\"" + std::string(key.key) + "\"";
    if (key.scope != core::none_text)
        shown += " and shard key \"" + std::string(key.scope) + "\"";
    const bool may_know = catalog::may(catalog::caller(), queue, catalog::Privilege::read) ||
                          catalog::may(catalog::caller(), queue, catalog::Privilege::operate);
    HIPQ_RAISE(errcode(ERRCODE_UNIQUE_VIOLATION),
               errmsg("job type \"%s\" has an unfinished job with key %s in queue \"%s\"",
                      type.c_str(), shown.c_str(), name.c_str()),
               may_know ? errdetail("Job %lld holds the key.", static_cast<long long>(holder)) : 0,
               errhint("Use on_duplicate => 'return' to get the id of that job instead."));
}

// Whether the waiting job that holds the key is changed.
bool is_change(OnDuplicate on_duplicate)
{
    return on_duplicate >= OnDuplicate::replace;
}

[[noreturn]] void refuse_change_without_key()
{
    HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
               errmsg("a job without key has no duplicate"),
               errhint("Give a job_key, or use on_duplicate => 'error'."));
}

std::int64_t holder_or_error(const catalog::Queue &queue, const core::UniqueKey &key,
                             std::int64_t holder, OnDuplicate on_duplicate)
{
    if (on_duplicate == OnDuplicate::error)
        refuse_duplicate(queue, key, holder);
    return holder;
}

pg::RawValue text_array(const Keys &texts)
{
    return pg::call([&] {
        auto *values = static_cast<Datum *>(::palloc(sizeof(Datum) * (texts.size() + 1)));
        auto *nulls = static_cast<bool *>(::palloc(sizeof(bool) * (texts.size() + 1)));
        for (std::size_t i = 0; i < texts.size(); ++i) {
            nulls[i] = !texts[i].has_value();
            values[i] = nulls[i] ? Datum{0} : job::text_datum(*texts[i]);
        }
        int dimensions[1] = {static_cast<int>(texts.size())};
        int lower_bounds[1] = {1};
        ArrayType *array = ::construct_md_array(values, nulls, 1, dimensions, lower_bounds, TEXTOID,
                                                -1, false, TYPALIGN_INT);
        return pg::RawValue{TEXTARRAYOID, PointerGetDatum(array), false};
    });
}

bool has_key(const std::optional<std::string> &key)
{
    return key.has_value() && *key != core::none_text;
}

bool is_keyed(const Keys &keys, std::size_t position)
{
    return position < keys.size() && has_key(keys[position]);
}

// The scopes of the keys of many jobs, as scope_of_key() returns them; empty if all keys are unique
// in the whole queue.
using Scopes = std::vector<std::string>;

Scopes scopes_of(const catalog::Queue &queue, const JobOptions &options,
                 std::span<const pg::RawValue> data, const Keys &keys)
{
    Scopes scopes;
    if (!queue.has_keys_by_shard())
        return scopes;
    const job::RowValues chosen = chosen_values(queue, options);
    for (std::size_t i = 0; i < data.size(); ++i)
        scopes.push_back(is_keyed(keys, i) ? scope_of_key(chosen, queue, data[i], *keys[i])
                                           : std::string(core::none_text));
    return scopes;
}

std::string_view scope_at(const Scopes &scopes, std::size_t position)
{
    return scopes.empty() ? core::none_text : std::string_view(scopes[position]);
}

// A key and its scope, in the order in which jobs are inserted.
using KeyInScope = std::pair<std::string, std::string>;

KeyInScope key_at(const Keys &keys, const Scopes &scopes, std::size_t position)
{
    return {*keys[position], std::string(scope_at(scopes, position))};
}

// What one INSERT of many jobs returned: ids of jobs with a key by key, ids of the others in order.
struct Inserted {
    std::map<KeyInScope, std::int64_t> keyed;
    std::vector<std::int64_t> unkeyed;
};

Inserted inserted(const pg::Rows &rows, bool have_scopes)
{
    Inserted result;
    for (const pg::Row row : rows) {
        if (const std::string key = row.text(1); key != "NONE")
            result.keyed.emplace(KeyInScope{key, have_scopes ? row.text(2) : "NONE"},
                                 row.integer(0));
        else
            result.unkeyed.push_back(row.integer(0));
    }
    return result;
}

std::vector<std::size_t> in_order_of_keys(const Keys &keys, const Scopes &scopes)
{
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < keys.size(); ++i)
        if (is_keyed(keys, i))
            positions.push_back(i);
    std::stable_sort(positions.begin(), positions.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(std::string_view(*keys[a]), scope_at(scopes, a)) <
               std::pair(std::string_view(*keys[b]), scope_at(scopes, b));
    });
    return positions;
}

// Jobs with a key first, as in insert_many_sql.
Inserted insert_directly(DirectEnqueue &direct, std::span<const pg::RawValue> elements,
                         const Keys &keys, const Scopes &scopes)
{
    Inserted fresh;
    for (const std::size_t i : in_order_of_keys(keys, scopes))
        if (const auto id = direct.insert_unless_taken(elements[i], keys[i]))
            fresh.keyed.emplace(key_at(keys, scopes, i), *id);
    std::vector<pg::RawValue> unkeyed;
    for (std::size_t i = 0; i < elements.size(); ++i)
        if (!is_keyed(keys, i))
            unkeyed.push_back(elements[i]);
    fresh.unkeyed = direct.insert(unkeyed);
    return fresh;
}

pg::RawValue text_array_or_null(const Keys &texts)
{
    return texts.empty() ? pg::RawValue{TEXTARRAYOID, Datum{0}, true} : text_array(texts);
}

// Held jobs and jobs of batches that cannot be inserted directly.
Inserted insert_one_by_one(const catalog::Queue &queue, const JobOptions &options,
                           std::span<const pg::RawValue> elements, const Keys &keys,
                           const Scopes &scopes)
{
    Inserted result;
    for (const std::size_t i : in_order_of_keys(keys, scopes))
        if (const auto id = insert_one(queue, options, elements[i], keys[i]))
            result.keyed.emplace(key_at(keys, scopes, i), *id);
    for (std::size_t i = 0; i < elements.size(); ++i)
        if (!is_keyed(keys, i))
            if (const auto id = insert_one(queue, options, elements[i], std::nullopt))
                result.unkeyed.push_back(*id);
    return result;
}

Inserted insert_many(const catalog::Queue &queue, const JobOptions &options, pg::RawValue data,
                     std::span<const pg::RawValue> elements, const Keys &keys, const Scopes &scopes)
{
    const bool has_keys = std::any_of(keys.begin(), keys.end(), has_key);
    if (auto direct = DirectEnqueue::begin(
            queue, options, has_keys ? NewRows::With::keys : NewRows::With::no_keys)) {
        Inserted fresh = insert_directly(*direct, elements, keys, scopes);
        direct->end();
        return fresh;
    }
    if (options.has_own_values())
        return insert_one_by_one(queue, options, elements, keys, scopes);
    return inserted(insert(queue, insert_many_sql, options, data, text_array_or_null(keys),
                           text_array_or_null({scopes.begin(), scopes.end()})),
                    queue.has_keys_by_shard());
}

}  // namespace

// The guard trigger takes the hold of a job, its batch and the time of its schedule from the id
// that was drawn for it.
std::optional<std::int64_t> insert_one(const catalog::Queue &queue, const JobOptions &options,
                                       pg::RawValue data, const std::optional<std::string> &key,
                                       DrawnId drawn_id)
{
    if (auto direct = DirectEnqueue::begin(
            queue, options, has_key(key) ? NewRows::With::keys : NewRows::With::no_keys)) {
        const auto id = direct->insert_unless_taken(data, key, drawn_id);
        direct->end();
        return id;
    }
    if (options.has_own_values() && !drawn_id.has_value())
        drawn_id =
            new_job(catalog::catalogue(), queue, options, data, key).as_int64(core::Column::id);
    const AcceptedId accepted(
        {queue.id, drawn_id, options.waits_for, options.batch_id, options.schedule_time});
    const pg::Rows rows = insert(queue, insert_one_sql, options, data, key, drawn_id);
    return rows.empty() ? std::nullopt : std::optional(rows.front().integer(0));
}

namespace {

// Nothing: try again. The holder of the key has finished in the meantime, so the key is free; or
// the id was in use, and the next one may not be.
std::optional<Enqueued> try_here(const catalog::Queue &queue, const JobOptions &options,
                                 pg::RawValue data, const std::optional<std::string> &key,
                                 OnDuplicate on_duplicate, DrawnId drawn_id)
{
    const std::string scope = has_key(key) && queue.has_keys_by_shard()
                                  ? scope_of_key(chosen_values(queue, options), queue, data, *key)
                                  : "NONE";
    if (is_change(on_duplicate))
        if (const auto met = apply_on_duplicate({queue, options, data, *key, scope}, on_duplicate))
            return met;
    if (const auto id = insert_one(queue, options, data, key, drawn_id))
        return Enqueued{*id, EnqueueAction::inserted};
    if (has_key(key) && !is_change(on_duplicate)) {
        const core::UniqueKey wanted{options.type, *key, scope};
        if (const auto holder = holder_of(queue, wanted))
            return Enqueued{holder_or_error(queue, wanted, *holder, on_duplicate),
                            EnqueueAction::returned};
    }
    pg::call([] { CHECK_FOR_INTERRUPTS(); });
    return std::nullopt;
}

Enqueued enqueue_here(const catalog::Queue &queue, const JobOptions &options, pg::RawValue data,
                      const std::optional<std::string> &key, OnDuplicate on_duplicate)
{
    for (;;)
        if (const auto enqueued = try_here(queue, options, data, key, on_duplicate, std::nullopt))
            return *enqueued;
}

// In a sharded instance the id decides which node has the job.
Enqueued enqueue_by_shard(const catalog::Queue &queue, const JobOptions &options, pg::RawValue data,
                          const std::optional<std::string> &key, OnDuplicate on_duplicate)
{
    for (;;) {
        const Sent sent = send_elsewhere(queue, options, {&data, 1}, {key}, on_duplicate);
        const std::int64_t id = sent.ids.front();
        if (sent.own.empty())
            return {id, has_key(key) ? EnqueueAction::sent : EnqueueAction::inserted};
        if (const auto enqueued = try_here(queue, options, data, key, on_duplicate, id))
            return *enqueued;
    }
}

// Inserts the jobs without key at once, unless SQL must be used, and removes their positions from
// `own`.
void insert_unkeyed(const catalog::Queue &queue, const JobOptions &options,
                    std::span<const pg::RawValue> data, const Keys &keys, Sent &sent)
{
    std::vector<pg::RawValue> unkeyed;
    std::vector<std::int64_t> ids;
    for (const std::size_t i : sent.own)
        if (!is_keyed(keys, i)) {
            unkeyed.push_back(data[i]);
            ids.push_back(sent.ids[i]);
        }
    auto direct = unkeyed.empty() ? std::nullopt
                                  : DirectEnqueue::begin(queue, options, NewRows::With::no_keys);
    if (!direct.has_value())
        return;
    if (direct->insert(unkeyed, ids).size() != unkeyed.size())
        refuse_ids_in_use(queue);
    direct->end();
    std::erase_if(sent.own, [&](std::size_t i) { return !is_keyed(keys, i); });
}

// Sends the jobs of other nodes together; then inserts those of this node without key together, and
// each of the others separately.
std::vector<std::int64_t> enqueue_by_shards(const catalog::Queue &queue, const JobOptions &options,
                                            std::span<const pg::RawValue> data, const Keys &keys,
                                            OnDuplicate on_duplicate)
{
    Sent sent = send_elsewhere(queue, options, data, keys, on_duplicate);
    if (!is_change(on_duplicate))
        insert_unkeyed(queue, options, data, keys, sent);
    for (const std::size_t i : sent.own) {
        const std::optional<std::string> key = i < keys.size() ? keys[i] : std::nullopt;
        const auto enqueued = try_here(queue, options, data[i], key, on_duplicate, sent.ids[i]);
        sent.ids[i] =
            (enqueued ? *enqueued : enqueue_by_shard(queue, options, data[i], key, on_duplicate))
                .id;
    }
    return std::move(sent.ids);
}

// Enqueues the jobs one by one in the order of their keys: each meets the present holder of its
// key.
std::vector<std::int64_t> change_many(const catalog::Queue &queue, const JobOptions &options,
                                      pg::RawValue data, std::size_t count, const Keys &keys,
                                      OnDuplicate on_duplicate)
{
    const std::vector<pg::RawValue> elements = pg::elements_of(data);
    const std::vector<std::size_t> positions =
        in_order_of_keys(keys, scopes_of(queue, options, elements, keys));
    if (positions.size() < count)
        refuse_change_without_key();
    std::vector<std::int64_t> ids(count);
    for (const std::size_t i : positions)
        ids[i] = enqueue_here(queue, options, elements[i], keys[i], on_duplicate).id;
    return ids;
}

}  // namespace

Enqueued enqueue(const catalog::Queue &queue, const JobOptions &options, pg::RawValue data,
                 const std::optional<std::string> &key, OnDuplicate on_duplicate)
{
    if (is_change(on_duplicate) && !has_key(key))
        refuse_change_without_key();
    return queue.shards == nullptr ? enqueue_here(queue, options, data, key, on_duplicate)
                                   : enqueue_by_shard(queue, options, data, key, on_duplicate);
}

std::vector<std::int64_t> enqueue_many(const catalog::Queue &queue, const JobOptions &options,
                                       pg::RawValue data, std::size_t count, const Keys &keys,
                                       OnDuplicate on_duplicate,
                                       const std::optional<job::After> &after)
{
    if (queue.shards != nullptr)
        return enqueue_by_shards(queue, options, pg::elements_of(data), keys, on_duplicate);
    if (is_change(on_duplicate))
        return change_many(queue, options, data, count, keys, on_duplicate);
    const std::vector<pg::RawValue> elements = pg::elements_of(data);
    const Scopes scopes = scopes_of(queue, options, elements, keys);
    const Inserted fresh = insert_many(queue, options, data, elements, keys, scopes);
    const auto keyed = static_cast<std::size_t>(std::count_if(keys.begin(), keys.end(), has_key));
    // A job without key can only conflict by its id.
    if (fresh.unkeyed.size() != count - keyed)
        refuse_ids_in_use(queue);
    std::set<KeyInScope> seen;
    std::vector<std::int64_t> ids;
    std::vector<std::int64_t> made = fresh.unkeyed;
    for (const auto &[key, id] : fresh.keyed)
        made.push_back(id);
    auto next_unkeyed = fresh.unkeyed.begin();
    for (std::size_t i = 0; i < count; ++i) {
        if (!is_keyed(keys, i)) {
            ids.push_back(*next_unkeyed++);
            continue;
        }
        const KeyInScope key = key_at(keys, scopes, i);
        const core::UniqueKey wanted{options.type, key.first, key.second};
        if (const auto found = fresh.keyed.find(key); found != fresh.keyed.end()) {
            const bool is_first = seen.insert(key).second;
            ids.push_back(is_first ? found->second
                                   : holder_or_error(queue, wanted, found->second, on_duplicate));
        } else if (const auto holder = holder_of(queue, wanted)) {
            ids.push_back(holder_or_error(queue, wanted, *holder, on_duplicate));
        } else {
            // The holder finished between the INSERT and this search: enqueue the job separately.
            const Enqueued job = enqueue_here(queue, options, elements[i], keys[i], on_duplicate);
            ids.push_back(job.id);
            if (job.action == EnqueueAction::inserted)
                made.push_back(job.id);
        }
    }
    if (after.has_value() && !made.empty())
        come_after(queue, made, *after);
    return ids;
}

}  // namespace hipq::enqueue
