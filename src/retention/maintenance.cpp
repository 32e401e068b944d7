// Keeps the tables in order: leaves, dropped queues, dead letters whose time is over.
#include "retention/maintenance.hpp"

#include "catalog/catalog.hpp"
#include "job/job.hpp"
#include "pg/point.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"
#include "recovery/recovery.hpp"
#include "settings.hpp"
#include "tables/tables.hpp"

namespace hipq::retention {

namespace {

using catalog::Queue;
using core::Duty;

constexpr std::int64_t minute = 60'000'000;
constexpr std::int64_t maintenance_interval = minute;
constexpr std::int64_t unused_type_age = 60 * minute;
constexpr std::int64_t retry_interval = 1'000'000;
constexpr int dead_letters_at_once = 10'000;

// Whether a duty of this pass was not done.
constinit bool has_trouble = false;

bool try_duty(Duty duty, const Queue *queue, const std::function<void()> &fn)
{
    const bool is_done = process::do_duty(duty, queue, fn);
    has_trouble = has_trouble || !is_done;
    return is_done;
}

// A step of maintenance; false: it, or a part of it, is left to the next pass.
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

bool maintain_final_tree(const Queue &queue, tables::Patience &patience)
{
    return do_step(Duty::leaves, &queue,
                   [&] { return tables::maintain_time_tree(tables::final_tree(queue), patience); });
}

bool maintain_trees(const catalog::Catalogue &catalogue, tables::Patience &patience)
{
    bool done = true;
    std::int64_t longest_retention = settings::retention.microseconds();
    tables::forget_leaf_requests();
    for (const auto &entry : catalogue.queues) {
        const Queue &queue = entry.second;
        if (queue.is_dropped)
            continue;
        longest_retention = std::max(longest_retention, queue.retention);
        done = maintain_final_tree(queue, patience) && done;
    }
    const tables::TimeTree attempts{"attempt", "ended_time", longest_retention, false};
    return do_step(Duty::leaves, nullptr,
                   [&] { return tables::maintain_time_tree(attempts, patience); }) &&
           done;
}

void prune_surplus_dead_letters(const Queue &queue)
{
    for (std::int64_t pruned = dead_letters_at_once; pruned == dead_letters_at_once;) {
        process::check_interrupts();
        pg::with_transaction(
            [&] { pruned = job::prune_surplus_dead_letters(queue, dead_letters_at_once); });
    }
}

// Those whose time is over, and of each queue the oldest that are too many.
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
    for (const auto &entry : catalogue.queues)
        if (!entry.second.is_dropped)
            try_duty(Duty::dead_letters, &entry.second,
                     [&] { prune_surplus_dead_letters(entry.second); });
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

// Those that nobody has registered, and of which no job is left: they would use up what their queue
// may have.
void forget_unused_types(const catalog::Catalogue &catalogue, pg::Time now)
{
    for (const auto &entry : catalogue.queues)
        if (!entry.second.is_dropped)
            try_duty(Duty::unused_types, &entry.second, [&] {
                pg::with_transaction([&] {
                    catalog::lock_or_raise(entry.second);
                    catalog::forget_unused_types(entry.second, now + -unused_type_age);
                });
            });
}

void maintain_now(Maintenance &maintenance, pg::Time now)
{
    maintenance.is_left = false;
    has_trouble = false;
    const auto catalogue = recovery::read_catalogue();
    if (catalogue->queues.empty())
        return;
    recovery::forget_stale_cases();
    tables::Patience patience;
    const bool dropped = finish_drops(*catalogue, patience);
    const bool trees_done = maintain_trees(*catalogue, patience);
    prune_dead_letters(*catalogue, now);
    forget_made_jobs(*catalogue);
    forget_unused_types(*catalogue, now);
    maintenance.is_left = !dropped || !trees_done;
    maintenance.next = now + (maintenance.is_left ? retry_interval : maintenance_interval);
    if (has_trouble)
        maintenance.next = std::clamp(process::next_duty(), now + retry_interval, maintenance.next);
    maintenance.is_left = maintenance.is_left || has_trouble;
}

// The trees of queues that have had their first final jobs since the last pass. False: a lock is
// against one.
bool make_requested_leaves()
{
    const std::vector<int> ids = tables::requested_leaves();
    if (ids.empty())
        return true;
    const auto catalogue = recovery::read_catalogue();
    tables::Patience patience;
    bool done = true;
    for (const int id : ids) {
        const Queue *queue = catalogue->find(id);
        if (queue == nullptr || queue->is_dropped || maintain_final_tree(*queue, patience))
            tables::leaves_are_made(id);
        else
            done = false;
    }
    return done;
}

}  // namespace

pg::Time maintain(Maintenance &maintenance, pg::Time now, bool saw_dropped_queue)
{
    // A queue that was dropped just now goes at once; one that could not go, when its time comes.
    if (now >= maintenance.next || (saw_dropped_queue && !maintenance.is_left))
        maintain_now(maintenance, now);
    const bool has_leaves = make_requested_leaves();
    const pg::Time next = maintenance.is_left
                              ? maintenance.next
                              : pg::infinity;  // also when something else has woken it before
    return has_leaves ? next : std::min(next, now + retry_interval);
}

}  // namespace hipq::retention
