// Sends the queues' figures, as in view hipq.activity, to the router.
#include "shards/send_stats.hpp"

#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "process/process.hpp"
#include "shared/databases/duties_set_aside.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::shards {

namespace {

constexpr std::int64_t shortest_stats_interval = 2'000'000;  // us
constexpr std::int64_t longest_stats_interval =
    30'000'000;  // while there is activity and the figures stay the same

constinit pg::Statement select_figures(R"(
    SELECT jsonb_agg(to_jsonb(figures) ORDER BY figures.queue)::text,
           coalesce(bool_and(figures.backlog_estimate IS NOT DISTINCT FROM 0 AND figures.running_jobs = 0 AND figures.finished_per_minute = 0 AND figures.failed = 0), true)
    FROM (
        SELECT queue.name AS queue,
               activity.backlog_estimate,
               activity.running_jobs,
               activity.finished_per_minute,
               activity.failed,
               activity.oldest_due_time,
               activity.state
        FROM hipq.activity_detail AS activity
        JOIN hipq.queue AS queue ON activity.queue = $2 || '.' || queue.name
        WHERE queue.instance_id = $1 AND NOT queue.is_dropped
    ) AS figures)");

constinit pg::Statement insert_letter(R"(
    INSERT INTO hipq.shard_outbox (instance, sender, node, kind, body)
    VALUES ($1, $2, 0, 'stats', jsonb_build_object('queues', coalesce($3::jsonb, '[]'), 'trouble', $4)))");

// Parsed once here, because views read them each time.
constinit pg::Statement upsert_stats(R"(
    INSERT INTO hipq.shard_stats AS known (instance_id, node, as_of, queues, trouble)
    SELECT instance.instance_id, $2, $3,
           (SELECT coalesce(jsonb_agg(to_jsonb(figures) ORDER BY figures.queue), '[]')
            FROM pg_catalog.jsonb_to_recordset($4 -> 'queues') AS figures (
                queue text, backlog_estimate bigint, running_jobs bigint, finished_per_minute numeric, failed bigint, oldest_due_time timestamptz, state text)),
           $4 ->> 'trouble'
    FROM hipq.instance AS instance
    WHERE instance.name = $1
    ON CONFLICT ON CONSTRAINT shard_stats_pkey
    DO UPDATE SET as_of = EXCLUDED.as_of, queues = EXCLUDED.queues, trouble = EXCLUDED.trouble)");

// The state of this process. A new process sends all figures again.
struct SentStats {
    std::string figures;
    std::optional<std::string> trouble;
    pg::Time last_look{0};
    pg::Time next_look{0};  // infinity: nothing goes on
    std::int64_t interval = shortest_stats_interval;

    bool is_due(pg::Time now) const
    {
        const bool was_set_back = last_look > now;  // the clock was set back
        return was_set_back || (now >= last_look + shortest_stats_interval &&
                                (next_look == pg::infinity || now >= next_look));
    }
    // A process that wakes the scheduler early may have changed a queue that was idle.
    pg::Time next(bool has_looked) const
    {
        return next_look == pg::infinity && !has_looked ? last_look + shortest_stats_interval
                                                        : next_look;
    }
};

// Never freed: it lives as long as the process.
std::map<int, SentStats> &sent_of_instances()
{
    static auto *sent = new std::map<int, SentStats>();
    return *sent;
}

// Returns what keeps this shard from taking what the router sends, if anything.
std::optional<std::string> present_trouble()
{
    for (const memory::SetAside &aside : databases::list_set_aside())
        if (aside.duty == core::Duty::letters)
            return aside.error;
    return std::nullopt;
}

void look(const catalog::Queue &queue, SentStats &sent)
{
    bool is_quiet = true;
    std::string figures;
    const std::optional<std::string> trouble = present_trouble();
    bool is_sent = false;
    const bool is_done = process::do_duty(core::Duty::figures, nullptr, [&] {
        pg::with_transaction([&] {
            pg::as_hipq([&] {
                const pg::Row row = select_figures.run(queue.instance_id, queue.instance).front();
                figures = row.text(0);
                is_quiet = row.boolean(1);
                if (figures == sent.figures && trouble == sent.trouble)
                    return;
                insert_letter.run(queue.instance, static_cast<std::int16_t>(queue.shards->own_node),
                                  figures.empty() ? std::nullopt : std::optional(figures), trouble);
                is_sent = true;
            });
        });
    });
    if (is_done) {
        sent.figures = figures;
        sent.trouble = trouble;
    }
    sent.interval = is_sent || !is_done ? shortest_stats_interval
                                        : std::min(2 * sent.interval, longest_stats_interval);
    sent.last_look = pg::now();
    sent.next_look =
        is_quiet && is_done && !is_sent ? pg::infinity : sent.last_look + sent.interval;
}

}  // namespace

pg::Time send_stats(const catalog::Catalogue &catalogue)
{
    pg::Time next = pg::infinity;
    std::set<int> seen;
    for (const auto &[id, queue] : catalogue.queues) {
        if (queue.shards == nullptr || queue.shards->own_node == core::router_node ||
            !seen.insert(queue.instance_id).second)
            continue;
        SentStats &sent = sent_of_instances()[queue.instance_id];
        const bool is_due = sent.is_due(pg::now());
        if (is_due)
            look(queue, sent);
        next = std::min(next, sent.next(is_due));
    }
    return next;
}

void take_stats(const Letter &letter)
{
    pg::as_hipq([&] {
        upsert_stats.run(letter.instance, static_cast<std::int16_t>(letter.sender), letter.sent,
                         letter.body);
    });
}

}  // namespace hipq::shards
