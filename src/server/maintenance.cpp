// Maintains the tables: leaves, dropped queues, and dead letters whose retention is over.
#include "server/maintenance.hpp"

#include <chrono>

#include "catalog/cache.hpp"
#include "catalog/queue_lock.hpp"
#include "catalog/unregistered_types.hpp"
#include "claim/claim.hpp"
#include "job/batches/batch_rows.hpp"
#include "job/dead_letter_rows.hpp"
#include "job/dependency_rows.hpp"
#include "job/made_by_handler.hpp"
#include "job/set_aside.hpp"
#include "nodes/nodes.hpp"
#include "pg/point.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"
#include "recovery/recovery.hpp"
#include "settings.hpp"
#include "tables/leaf_requests.hpp"
#include "tables/maintain_leaves.hpp"
#include "tables/make_leaf.hpp"
#include "tables/queue_table.hpp"
#include "tables/try_lock.hpp"

namespace hipq::server {

namespace {

using catalog::Queue;
using core::Duty;

constexpr std::int64_t maintenance_interval = 60'000'000;  // us
constexpr std::int64_t unused_type_age = 60 * maintenance_interval;
constexpr std::int64_t retry_interval = 1'000'000;
constexpr int dead_letters_at_once = 10'000;
constexpr std::int64_t batches_at_once = 1'000;

// Jobs that arrive meanwhile wait for the scheduler to look at their queues. So after this time the
// scheduler looks again before it goes on. The leaves of one queue take about 20 ms.
constexpr std::chrono::milliseconds longest_pass{20};

// Whether a duty of this pass was not done.
constinit bool has_trouble = false;

bool try_duty(Duty duty, const Queue *queue, const std::function<void()> &fn)
{
    const bool is_done = process::do_duty(duty, queue, fn);
    has_trouble = has_trouble || !is_done;
    return is_done;
}

// A step of maintenance; returns false if some of it is left to the next pass.
using Step = std::function<bool()>;

bool do_step(Duty duty, const Queue *queue, const Step &step)
{
    bool is_done = false;
    return try_duty(duty, queue, [&] { is_done = step(); }) && is_done;
}

bool finish_drops(const catalog::Catalogue &catalogue, tables::Patience &patience)
{
    bool done = true;
    for (const tables::MarkedQueue &queue : tables::read_marked_queues())
        done = do_step(Duty::drop, catalogue.find(queue.id),
                       [&] { return tables::drop_marked_queue(queue, patience); }) &&
               done;
    return done;
}

bool maintain_trees(const std::array<tables::TimeTree, 2> &trees, tables::Patience &patience)
{
    bool done = true;
    for (const tables::TimeTree &tree : trees)
        done = do_step(Duty::leaves, nullptr,
                       [&] { return tables::maintain_time_tree(tree, patience); }) &&
               done;
    return done;
}

// Attempts are kept as long as the job that is kept longest.
bool maintain_attempts(const catalog::Catalogue &catalogue, tables::Patience &patience)
{
    std::int64_t longest_retention = settings::retention.microseconds();
    for (const auto &entry : catalogue.queues)
        if (!entry.second.is_dropped)
            longest_retention = std::max(longest_retention, entry.second.retention);
    return maintain_trees(tables::attempt_trees(longest_retention), patience);
}

bool is_out_of_step()
{
    bool found = false;
    pg::with_transaction([&] {
        found = std::ranges::any_of(catalog::catalogue()->queues, [](const auto &entry) {
            return entry.second.is_out_of_step();
        });
    });
    return found;
}

// Rejects are kept twice as long as sent rows, and a day, because a leaf is dropped only when all
// of its rows are old.
void prune_rejects(const std::optional<pg::Time> &unread_since)
{
    if (!unread_since.has_value())
        return;
    constexpr std::int64_t day = 86'400'000'000;
    const std::int64_t kept_for = 2 * settings::outbox_keep.microseconds() + day;
    try_duty(Duty::dead_letters, nullptr, [&] {
        pg::with_transaction([&] {
            nodes::prune_rejects(std::min(*unread_since, pg::now() + -kept_for),
                                 dead_letters_at_once);
        });
    });
}

// Maintains the tables of rows to and from other servers. A node that is out of step keeps all of
// them, because other nodes may still need them.
bool maintain_outbox(tables::Patience &patience)
{
    if (is_out_of_step())
        return true;
    std::optional<pg::Time> unread_since;
    try_duty(Duty::leaves, nullptr, [&] {
        pg::with_transaction(
            [&] { unread_since = nodes::unread_since(tables::postgres_time(tables::unix_now())); });
    });
    prune_rejects(unread_since);
    return maintain_trees(tables::outbox_trees(settings::outbox_keep.microseconds(), unread_since),
                          patience);
}

bool maintain_tree(const Queue &queue, tables::Patience &patience)
{
    tables::TimeTree tree = tables::final_tree(queue);
    if (queue.has_waits)
        tree.before_rows_go = job::keep_outcomes;
    return do_step(Duty::leaves, &queue,
                   [&] { return tables::maintain_time_tree(tree, patience); });
}

void prune_surplus_dead_letters(const Queue &queue)
{
    for (std::int64_t pruned = dead_letters_at_once; pruned == dead_letters_at_once;) {
        process::check_interrupts();
        pg::with_transaction(
            [&] { pruned = job::prune_surplus_dead_letters(queue, dead_letters_at_once); });
    }
}

// Removes dead letters whose retention is over.
void prune_dead_letters(const catalog::Catalogue &catalogue, pg::Time now)
{
    try_duty(Duty::dead_letters, nullptr, [] {
        pg::with_transaction([] {
            tables::prune_dead_letters(dead_letters_at_once);
            HIPQ_POINT("after-prune");
        });
    });
    try_duty(Duty::made_jobs, nullptr,
             [&] { pg::with_transaction([&] { job::prune_set_aside(catalogue, now); }); });
}

void forget_made_jobs(const catalog::Catalogue &catalogue)
{
    std::vector<int> ids;
    try_duty(Duty::made_jobs, nullptr,
             [&] { pg::with_transaction([&] { ids = job::queues_with_made_jobs(); }); });
    for (const int id : ids)
        if (const Queue *queue = catalogue.find(id); queue != nullptr && !queue->is_dropped)
            try_duty(Duty::made_jobs, queue, [&] {
                pg::with_transaction([&] {
                    catalog::lock_or_raise(*queue);
                    job::prune_made_jobs(*queue);
                });
            });
}

// Removes unregistered types that have no jobs left: they would use up the number of types that
// their queue may have.
void prune_unused_types(const Queue &queue, pg::Time now)
{
    if (queue.type_facts().unregistered > 0)
        try_duty(Duty::unused_types, &queue, [&] {
            pg::with_transaction([&] {
                catalog::lock_or_raise(queue);
                catalog::forget_unused_types(queue, now + -unused_type_age);
            });
        });
}

void prune_leases(const catalog::Catalogue &catalogue, pg::Time now)
{
    const bool has_leases = std::ranges::any_of(
        catalogue.queues, [](const auto &entry) { return entry.second.has_waits; });
    if (has_leases)  // 0.2.0 has none
        try_duty(Duty::unused_types, nullptr,
                 [&] { pg::with_transaction([&] { claim::prune_leases(catalogue, now); }); });
}

// Removes batches that were closed as long ago as final jobs are kept.
void prune_batches(const catalog::Catalogue &catalogue, const Queue &queue, pg::Time now)
{
    if (!queue.has_waits)
        return;
    try_duty(Duty::waits, &queue, [&] {
        std::int64_t pruned = batches_at_once;
        while (pruned == batches_at_once)
            pg::with_transaction([&] {
                pruned =
                    job::prune_batches(catalogue, queue, now + -queue.retention, batches_at_once);
            });
    });
}

// Returns whether nothing is left to the next pass.
bool maintain_queue(const catalog::Catalogue &catalogue, const Queue &queue,
                    tables::Patience &patience, pg::Time now)
{
    has_trouble = false;
    const bool tree_done = maintain_tree(queue, patience);
    prune_batches(catalogue, queue, now);
    try_duty(Duty::dead_letters, &queue, [&] { prune_surplus_dead_letters(queue); });
    prune_unused_types(queue, now);
    return tree_done && !has_trouble;
}

void maintain_database(Maintenance &maintenance, const catalog::Catalogue &catalogue,
                       tables::Patience &patience, pg::Time now)
{
    maintenance.is_left = false;
    has_trouble = false;
    recovery::forget_stale_cases();
    tables::forget_answered_requests();
    const bool dropped = finish_drops(catalogue, patience);
    const bool attempts_done = maintain_attempts(catalogue, patience);
    const bool outbox_done = maintain_outbox(patience);
    prune_dead_letters(catalogue, now);
    forget_made_jobs(catalogue);
    prune_leases(catalogue, now);
    maintenance.is_left = !dropped || !attempts_done || !outbox_done;
    maintenance.next = now + (maintenance.is_left ? retry_interval : maintenance_interval);
    if (has_trouble)
        maintenance.next = std::clamp(process::next_duty(), now + retry_interval, maintenance.next);
    maintenance.is_left = maintenance.is_left || has_trouble;
}

// Returns the time of the next pass, even if something else woke the scheduler before that time.
// Only work left over from a failure needs a wakeup; other work can wait for the next look.
pg::Time next_of(const Maintenance &maintenance, pg::Time now)
{
    pg::Time next = maintenance.is_left ? maintenance.next : pg::infinity;
    for (const int id : maintenance.retried)
        next = std::min(next, pg::Time{maintenance.queues.due_of(id)});
    return maintenance.queues.next_due() <= now.value ? now : next;
}

// Makes queues due at once, or a minute after their last maintenance.
void note_touched(Maintenance &maintenance, const std::vector<int> &touched, pg::Time now)
{
    std::erase_if(maintenance.done, [&](const auto &entry) {
        return entry.second > now || entry.second + maintenance_interval <= now;
    });
    for (const int id : touched) {
        const auto done = maintenance.done.find(id);
        maintenance.queues.bring_forward(id, done == maintenance.done.end()
                                                 ? now.value
                                                 : done->second.value + maintenance_interval);
    }
}

// Makes queues due that have had their first final jobs since the last pass.
void note_requested(Maintenance &maintenance, pg::Time now)
{
    for (const int id : tables::requested_leaves())
        if (!maintenance.retried.contains(id))
            maintenance.queues.bring_forward(id, now.value);
}

void maintain_queue_by_id(Maintenance &maintenance, int id, tables::Patience &patience,
                          pg::Time now)
{
    process::check_interrupts();
    maintenance.retried.erase(id);
    const auto catalogue = recovery::read_catalogue();
    const Queue *queue = catalogue->find(id);
    if (queue == nullptr || queue->is_dropped)
        return tables::leaves_are_made(id);
    maintenance.done.insert_or_assign(id, now);
    if (maintain_queue(*catalogue, *queue, patience, now))
        return tables::leaves_are_made(id);
    maintenance.queues.set(id, now.value + retry_interval);
    maintenance.retried.insert(id);
}

// A lock that prevents it is tried again at the next look at the queue.
void make_key_indexes(Maintenance &maintenance, const std::vector<int> &queues,
                      tables::Patience &patience)
{
    for (const int id : queues) {
        if (maintenance.with_key_index.contains(id))
            continue;
        const auto catalogue = recovery::read_catalogue();
        const Queue *queue = catalogue->find(id);
        if (queue != nullptr && !queue->is_dropped && do_step(Duty::leaves, queue, [&] {
                return tables::index_throttle_keys(queue->table, patience);
            }))
            maintenance.with_key_index.insert(id);
    }
}

// Maintains at least one queue; the others stay due.
void maintain_queues(Maintenance &maintenance, tables::Patience &patience, pg::Time now)
{
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + longest_pass;
    do {
        for (const int id : maintenance.queues.take_due(now.value, 1))
            maintain_queue_by_id(maintenance, id, patience, now);
    } while (maintenance.queues.next_due() <= now.value && Clock::now() < end);
}

}  // namespace

pg::Time maintain(Maintenance &maintenance, pg::Time now, const Touched &touched)
{
    note_touched(maintenance, touched.queues, now);
    note_requested(maintenance, now);
    // Finish a queue that was just dropped at once, and one that could not be finished when it is
    // due.
    const bool was_set_back =
        maintenance.next > now + maintenance_interval;  // the clock was set back
    const bool is_due = now >= maintenance.next || was_set_back ||
                        (touched.has_dropped_queue && !maintenance.is_left);
    tables::Patience patience;
    if (is_due)
        if (const auto catalogue = recovery::read_catalogue(); !catalogue->queues.empty())
            maintain_database(maintenance, *catalogue, patience, now);
    make_key_indexes(maintenance, touched.with_parked_keys, patience);
    maintain_queues(maintenance, patience, now);
    return next_of(maintenance, now);
}

}  // namespace hipq::server
