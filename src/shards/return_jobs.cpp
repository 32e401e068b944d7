// Makes the jobs of slots that have left this node follow them.
//
// First sends all waiting jobs. Then tells the new node which keys still run here, and again each
// time one has ended. A job that is to be retried waits, so it is sent like the others, and its key
// is free here after that. For a queue in strict order, tells the new node what it awaits here
// while any job of the slot is left, or may come. The router also reports the keys of jobs from
// before it had shards (plain_jobs.hpp).
#include "shards/shards.hpp"

#include <chrono>
#include <map>

#include "catalog/cache.hpp"
#include "catalog/queue_lock.hpp"
#include "catalog/queue_statements.hpp"
#include "core/shards/ids.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "process/process.hpp"
#include "shards/map.hpp"
#include "shards/older_maps.hpp"
#include "shards/plain_jobs.hpp"
#include "shards/slot_sql.hpp"

namespace hipq::shards {

namespace {

using catalog::Queue;

constexpr std::int64_t leaving_look_interval =
    200'000;  // us, between two looks at running jobs and open transactions

constinit pg::Statement note_leaving_seen(R"(
    UPDATE hipq.shard_leaving AS leaving
    SET seen_time = clock_timestamp()
    WHERE leaving.instance_id = $1 AND leaving.seen_time IS NULL)");

constinit pg::Statement select_last_seen_leaving(R"(
    SELECT max(leaving.seen_time)
    FROM hipq.shard_leaving AS leaving
    WHERE leaving.instance_id = $1 AND leaving.busy_keys IS NULL)");

// Returns whether no transaction can bring jobs by the previous map any more.
bool is_quiet(int instance_id)
{
    const pg::Rows seen = select_last_seen_leaving.run(instance_id);
    return seen.front().null(0) || !has_users_since(seen.front().time(0));
}

// ---- jobs of leaving slots ----

// Takes the `chosen` jobs out of the queue and sends them. $1 instance, $2 its name, $3 own node,
// $4 queue.
#define HIPQ_SEND_CHOSEN                                                                           \
    "gone AS (DELETE FROM {live} AS job USING chosen WHERE job.id = chosen.id RETURNING job.id), " \
    "sent AS ("                                                                                    \
    "    INSERT INTO hipq.shard_outbox (instance, sender, node, kind, queue, jobs)"                \
    "    SELECT $2, $3, owner.node, 'moved', $4,"                                                  \
    "           array_agg(to_jsonb(chosen) - 'queue_id' ORDER BY chosen.id)"                       \
    "    FROM chosen"                                                                              \
    "    JOIN hipq.shard_map AS map ON map.instance_id = $1"                                       \
    "    CROSS JOIN LATERAL ("                                                                     \
    "        SELECT CASE WHEN $3 = 0 THEN map.nodes[" HIPQ_SLOT_OF(                                \
        "chosen.id") " + 1] ELSE 0 END) AS owner (node)"                                           \
                     "    GROUP BY owner.node) "

// Ids do not begin with their slots, so a queue is searched in the order of ids, one portion at a
// time. $5 id to go on after; plain ids all belong to slot 0, which stays. Sends waiting jobs, and
// returns the other jobs that it found, and where the portion ends; NULL: there is nothing after
// $5.
constexpr const char *look_sql = R"(
    WITH portion AS MATERIALIZED (
        SELECT job.id FROM {live} AS job WHERE job.id > $5 ORDER BY job.id LIMIT 20000
    ),
    found AS MATERIALIZED (
        SELECT portion.id
        FROM portion
        WHERE (SELECT array_agg(leaving.slot IS NOT NULL ORDER BY known.slot)
               FROM generate_series(0, 4095) AS known (slot)
               LEFT JOIN hipq.shard_leaving AS leaving ON leaving.instance_id = $1 AND leaving.slot = known.slot
              )[(portion.id & 4095)::integer + 1]
        ORDER BY portion.id
        LIMIT 1000
    ),
    chosen AS MATERIALIZED (
        SELECT job.*
        FROM found
        JOIN {live} AS job ON job.id = found.id
        WHERE job.state IN ('initial', 'retry') AND {free job}
        FOR UPDATE OF job SKIP LOCKED
    ),
    )" HIPQ_SEND_CHOSEN R"(
    SELECT found.id, true FROM found WHERE found.id NOT IN (SELECT gone.id FROM gone)
    UNION ALL
    SELECT CASE WHEN (SELECT count(*) FROM found) = 1000 THEN (SELECT max(found.id) FROM found)
                ELSE (SELECT max(portion.id) FROM portion)
           END, false)";

// $5: ids of jobs that were found, whose slots may have come back meanwhile.
constexpr const char *send_sql = R"(
    WITH chosen AS MATERIALIZED (
        SELECT job.*
        FROM {live} AS job
        JOIN hipq.shard_leaving AS leaving ON leaving.instance_id = $1 AND leaving.slot = )" HIPQ_SLOT_OF(
    "job.id") R"(
        WHERE job.id = ANY ($5) AND job.state IN ('initial', 'retry') AND {free job}
        FOR UPDATE OF job SKIP LOCKED
    ),
    )" HIPQ_SEND_CHOSEN "SELECT count(*) FROM gone";

// The jobs that are still unfinished here: slots, and keys or a queue in strict order. $1 queue, $2
// ids, $3 their slots, $4 instance.
constexpr const char *busy_sql = R"(
    SELECT job.id, known.slot,
           CASE
               WHEN $1 = ANY (leaving.in_order) THEN jsonb_build_object('queue', $1, 'awaits', 'jobs')
               WHEN job.job_key <> 'NONE' THEN
                   jsonb_build_array($1, job.job_type, job.job_key){+ || CASE WHEN job.shard_key <> 'NONE' THEN jsonb_build_array(job.shard_key) ELSE '[]' END+}
           END::text
    FROM unnest($2, $3) AS known (id, slot)
    JOIN {live} AS job ON job.id = known.id
    LEFT JOIN hipq.shard_leaving AS leaving ON leaving.instance_id = $4 AND leaving.slot = known.slot)";

// Queues in strict order that may still get jobs: held here, or by the router's older maps. The
// router itself has checked for transactions with an older map. $2 own node.
constinit pg::Statement select_expected(R"(
    SELECT leaving.slot,
           jsonb_build_object('queue', queue.name, 'awaits', CASE WHEN leaving.last_came OR $2 = 0 THEN 'jobs' ELSE 'last' END)::text
    FROM hipq.shard_leaving AS leaving
    CROSS JOIN unnest(leaving.in_order) AS queue (name)
    WHERE leaving.instance_id = $1
      AND (($2 <> 0 AND NOT leaving.last_came)
           OR EXISTS (
               SELECT
               FROM hipq.shard_held_job AS held
               WHERE held.instance_id = $1 AND held.slot = leaving.slot AND held.queue = queue.name)))");

// $2 slots and $3 keys, in parallel arrays; NULL for a job without a key.
constinit pg::Statement tell_busy(R"(
    WITH present AS (
        SELECT leaving.slot, coalesce(jsonb_agg(DISTINCT busy.job_key::jsonb) FILTER (WHERE busy.job_key IS NOT NULL), '[]') AS job_keys
        FROM hipq.shard_leaving AS leaving
        LEFT JOIN unnest($2, $3) AS busy (slot, job_key) ON busy.slot = leaving.slot AND busy.job_key <> ''
        WHERE leaving.instance_id = $1
        GROUP BY leaving.slot
    ),
    told AS (
        UPDATE hipq.shard_leaving AS leaving
        SET busy_keys = present.job_keys
        FROM present
        WHERE leaving.instance_id = $1 AND leaving.slot = present.slot AND leaving.busy_keys IS DISTINCT FROM present.job_keys
        RETURNING leaving.slot, leaving.busy_keys
    ),
    moved AS (
        DELETE FROM hipq.shard_move AS move USING told
        WHERE move.instance_id = $1 AND move.slot = told.slot AND told.busy_keys = '[]'
    ),
    noted AS (
        UPDATE hipq.shard_move AS move
        SET busy_keys = told.busy_keys
        FROM told
        WHERE move.instance_id = $1 AND move.slot = told.slot AND told.busy_keys <> '[]'
    )
    INSERT INTO hipq.shard_outbox (instance, sender, node, kind, body)
    SELECT $4, map.own_node, owner.node, 'returned',
           jsonb_build_object('slots', jsonb_agg(jsonb_build_object('slot', told.slot, 'busy', told.busy_keys)))
    FROM told
    JOIN hipq.shard_map AS map ON map.instance_id = $1
    CROSS JOIN LATERAL (SELECT CASE WHEN map.own_node = 0 THEN map.nodes[told.slot + 1] ELSE 0 END) AS owner (node)
    GROUP BY map.own_node, owner.node)");

// $2: slots that have unfinished jobs here.
#define HIPQ_IS_EMPTY                                                                              \
    "leaving.instance_id = $1 AND leaving.busy_keys = '[]' AND leaving.slot <> ALL ($2)"
constinit pg::Statement
    select_empty("SELECT FROM hipq.shard_leaving AS leaving WHERE " HIPQ_IS_EMPTY " LIMIT 1");
constinit pg::Statement
    forget_empty("DELETE FROM hipq.shard_leaving AS leaving WHERE " HIPQ_IS_EMPTY);

// ---- the search for them ----

// Queues by number; each has its own tables.
using Queues = std::vector<const Queue *>;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t before_first_id = core::first_id - 1;
constexpr std::int64_t before_plain_ids = 0;

// How far an instance has been searched. When no transaction can bring jobs by the previous map any
// more, one search finds all jobs that will ever be there, and then only those are looked at.
struct Search {
    Clock::time_point began{};
    int queue_id = 0;                       // where to go on
    std::int64_t after = before_plain_ids;  // in that queue
    bool was_quiet = false;                 // when it began
    bool is_over = false;                   // was_quiet, and `left` is complete
    std::map<int, PlacedJobs> left{};       // unfinished jobs that were found, by queue
    Clock::time_point next{};               // when to begin again
    Clock::time_point next_telling{};       // of `left`
};

// A queue may be long, so searching it again and again takes a tenth of a core at most. A finished
// search is repeated too, in case a job has come in an unforeseen way.
Clock::duration rest_after(const Search &search)
{
    constexpr Clock::duration least = std::chrono::microseconds(leaving_look_interval);
    constexpr Clock::duration most = std::chrono::seconds(10);
    const Clock::duration rest = 9 * (Clock::now() - search.began);
    return search.is_over ? std::max(rest, most) : std::clamp(rest, least, most);
}

void end(Search &search)
{
    search.is_over = search.was_quiet;
    search.next = Clock::now() + rest_after(search);
}

void begin(Search &search, bool is_quiet)
{
    search = Search{};
    search.began = Clock::now();
    search.was_quiet = is_quiet;
}

bool has_begun(const Search &search)
{
    return search.began != Clock::time_point{};
}

bool has_ended(const Search &search)
{
    return search.next != Clock::time_point{};
}

template <class Choice>
pg::Rows send(const Queue &queue, const char *sql, const Choice &choice)
{
    return catalog::statement_for(queue, sql)
        .run(queue.instance_id, queue.instance, static_cast<std::int16_t>(queue.shards->own_node),
             queue.name, choice);
}

// Keys and slots, in parallel arrays.
struct Busy {
    std::vector<std::int64_t> slots;
    std::vector<std::string> keys;  // as JSON; empty: a job without a key
};

// Returns the jobs that are still unfinished here.
PlacedJobs note_busy(const Queue &queue, const PlacedJobs &jobs, Busy &busy)
{
    PlacedJobs left;
    for (const pg::Row row : catalog::statement_for(queue, busy_sql)
                                 .run(queue.name, jobs.ids, jobs.slots, queue.instance_id)) {
        left.add(row.integer(0), row.integer32(1));
        busy.slots.push_back(row.integer(1));
        busy.keys.push_back(row.text(2));
    }
    return left;
}

// Sends waiting jobs. Returns where the portion ends; nothing: there is none.
std::optional<std::int64_t> look_at_portion(const Queue &queue, std::int64_t after,
                                            PlacedJobs &left)
{
    std::optional<std::int64_t> end;
    for (const pg::Row row : send(queue, look_sql, after)) {
        if (row.boolean(1))
            left.add(row.integer(0), core::decompose_id(row.integer(0))->slot);
        else
            end = row.maybe_integer(0);
    }
    return end;
}

bool may_have_plain_jobs(const Queue &queue)
{
    return queue.shards->own_node == core::router_node && queue.shard_key.has_value();
}

// Plain ids are less than all others. Returns whether there may be more in this queue.
bool look_on(const Queue &queue, Search &search)
{
    PlacedJobs &left = search.left[queue.id];
    std::optional<std::int64_t> end;
    if (search.after < before_first_id)
        end = may_have_plain_jobs(queue)
                  ? look_at_plain_jobs(queue, search.after, left).value_or(before_first_id)
                  : before_first_id;
    else
        end = look_at_portion(queue, search.after, left);
    search.after = end.value_or(search.after);
    return end.has_value();
}

// Returns false if all queues have been searched.
bool look_further(const Queues &queues, Search &search)
{
    for (const Queue *queue : queues) {
        if (queue->id < search.queue_id)
            continue;
        if (queue->id > search.queue_id)
            search.after = before_plain_ids;
        search.queue_id = queue->id;
        if (look_on(*queue, search))
            return true;
        search.queue_id = queue->id + 1;
        search.after = before_plain_ids;
    }
    return false;
}

void tell_of_running(const Queues &queues, Search &search)
{
    Busy busy;
    for (const Queue *queue : queues)
        if (const auto left = search.left.find(queue->id);
            left != search.left.end() && !left->second.ids.empty()) {
            (void)send(*queue, send_sql, left->second.ids);
            left->second = note_busy(*queue, left->second, busy);
        }
    const int instance_id = queues.front()->instance_id;
    const auto own_node = static_cast<std::int16_t>(queues.front()->shards->own_node);
    for (const pg::Row row : select_expected.run(instance_id, own_node)) {
        busy.slots.push_back(row.integer(0));
        busy.keys.push_back(row.text(1));
    }
    tell_busy.run(instance_id, busy.slots, busy.keys, queues.front()->instance);
    // Even a DELETE of no rows would fire the trigger, and cause the next look at once.
    if (!select_empty.run(instance_id, busy.slots).empty())
        forget_empty.run(instance_id, busy.slots);
}

// There may be many keys, so this takes a tenth of the time at most.
void tell_at_times(const Queues &queues, Search &search)
{
    const Clock::time_point start = Clock::now();
    if (start < search.next_telling)
        return;
    tell_of_running(queues, search);
    const Clock::time_point end = Clock::now();
    search.next_telling = end + 9 * (end - start);
}

// A search that is not over is repeated as soon as it may be the last one.
bool is_search_due(const Search &search, int instance_id)
{
    return !has_begun(search) ||
           (has_ended(search) &&
            (search.next <= Clock::now() || (!search.is_over && is_quiet(instance_id))));
}

// Returns whether there may be more at once.
bool take_step(const Queues &queues, Search &search)
{
    const int instance_id = queues.front()->instance_id;
    wait_for_moves();
    const bool are_more_leaving = note_leaving_seen.run(instance_id).processed() > 0;
    if (are_more_leaving || is_search_due(search, instance_id))
        begin(search, is_quiet(instance_id));  // before looking for jobs
    if (!has_ended(search)) {
        if (look_further(queues, search))
            return true;
        end(search);
    }
    if (search.is_over)
        tell_at_times(queues, search);
    return false;
}

// After a failed step, the jobs that it found may not have been sent.
bool step(const Queues &queues, Search &search)
{
    bool has_more = false;
    bool is_done = false;
    process::do_duty(core::Duty::slots, nullptr, [&] {
        pg::with_transaction([&] {
            for (const Queue *queue : queues)
                catalog::lock_or_raise(*queue);
            pg::as_hipq([&] { has_more = take_step(queues, search); });
        });
        is_done = true;
    });
    if (!is_done)
        search = Search{};
    return is_done && has_more;
}

// Ends after a moment, because the scheduler has other work. Returns whether there may be more at
// once.
bool take_steps(const Queues &queues, Search &search)
{
    constexpr Clock::duration at_once = std::chrono::milliseconds(200);
    const Clock::time_point end = Clock::now() + at_once;
    bool has_more = true;
    while (has_more && Clock::now() < end) {
        has_more = step(queues, search);
        process::check_interrupts();
    }
    return has_more;
}

std::map<int, Queues> leaving(const catalog::Catalogue &catalogue)
{
    std::map<int, Queues> instances;
    for (const auto &[id, queue] : catalogue.queues)
        if (!queue.is_dropped && queue.shards != nullptr && queue.shards->has_leaving)
            instances[queue.instance_id].push_back(&queue);
    return instances;
}

}  // namespace

pg::Time return_jobs(const catalog::Catalogue &catalogue)
{
    static auto *searches = new std::map<int, Search>;  // by instance
    const std::map<int, Queues> instances = leaving(catalogue);
    std::erase_if(*searches, [&](const auto &known) { return !instances.contains(known.first); });
    bool has_more = false;
    for (const auto &[instance, queues] : instances)
        has_more = take_steps(queues, (*searches)[instance]) || has_more;
    return instances.empty() ? pg::infinity : pg::now() + (has_more ? 0 : leaving_look_interval);
}

}  // namespace hipq::shards
