// Keeps the tables in order: leaves, dropped queues, dead letters whose time is over.
#include "worker/maintenance.hpp"

#include "pg/point.hpp"
#include "pg/transaction.hpp"
#include "settings.hpp"
#include "storage/dead_letter.hpp"
#include "storage/made_by_handler.hpp"
#include "storage/queue_table.hpp"
#include "storage/reluctant_lock.hpp"
#include "storage/set_aside.hpp"
#include "storage/time_tree.hpp"
#include "storage/unregistered_types.hpp"
#include "worker/bring_home.hpp"
#include "worker/duties.hpp"
#include "worker/process.hpp"
#include "worker/suspects.hpp"

namespace hipq::worker {

namespace {

using core::Duty;
using storage::Queue;

constexpr std::int64_t minute = 60'000'000;
constexpr std::int64_t maintenance_interval = minute;
constexpr std::int64_t unused_type_age = 60 * minute;
constexpr std::int64_t retry_interval = 1'000'000;
constexpr int dead_letters_at_once = 10'000;

// Whether a duty of this pass was not done.
constinit bool has_trouble = false;

bool try_duty(Duty duty, const Queue *queue, const std::function<void()> &fn)
{
    const bool is_done = do_duty(duty, queue, fn);
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

bool finish_drops(const storage::Catalogue &catalogue, storage::Patience &patience)
{
    bool done = true;
    for (const storage::MarkedQueue &queue : storage::read_marked_queues())
        done = do_step(Duty::drop, catalogue.find(queue.id), [&] { return storage::drop_marked_queue(queue, patience); }) && done;
    return done;
}

bool maintain_trees(const storage::Catalogue &catalogue, storage::Patience &patience)
{
    bool done = true;
    std::int64_t longest_retention = std::int64_t{settings::retention} * minute;
    for (const auto &entry : catalogue.queues) {
        const Queue &queue = entry.second;
        if (queue.is_dropped)
            continue;
        longest_retention = std::max(longest_retention, queue.retention);
        done =
            do_step(
                Duty::leaves, &queue,
                [&] {
                    return storage::maintain_time_tree({queue.table + "_final", "update_time", queue.retention, true}, patience);
                }) &&
            done;
    }
    const storage::TimeTree attempts{"attempt", "ended_time", longest_retention, false};
    return do_step(Duty::leaves, nullptr, [&] { return storage::maintain_time_tree(attempts, patience); }) && done;
}

void prune_surplus_dead_letters(const Queue &queue)
{
    for (std::int64_t pruned = dead_letters_at_once; pruned == dead_letters_at_once;) {
        check_interrupts();
        pg::with_transaction([&] { pruned = storage::prune_surplus_dead_letters(queue, dead_letters_at_once); });
    }
}

// Those whose time is over, and of each queue the oldest that are too many.
void prune_dead_letters(const storage::Catalogue &catalogue, pg::Time now)
{
    try_duty(Duty::dead_letters, nullptr, [] {
        pg::with_transaction([] {
            storage::prune_dead_letters(dead_letters_at_once);
            HIPQ_POINT("after-prune");
        });
    });
    try_duty(Duty::made_jobs, nullptr, [&] { pg::with_transaction([&] { storage::prune_set_aside(catalogue, now); }); });
    for (const auto &entry : catalogue.queues)
        if (!entry.second.is_dropped)
            try_duty(Duty::dead_letters, &entry.second, [&] { prune_surplus_dead_letters(entry.second); });
}

void forget_made_jobs(const storage::Catalogue &catalogue)
{
    std::vector<int> ids;
    try_duty(Duty::made_jobs, nullptr, [&] { pg::with_transaction([&] { ids = storage::queues_with_made_jobs(); }); });
    for (const int id : ids)
        if (const Queue *queue = catalogue.find(id); queue != nullptr && !queue->is_dropped)
            try_duty(Duty::made_jobs, queue, [&] {
                pg::with_transaction([&] {
                    storage::lock_or_raise(*queue);
                    storage::prune_made_jobs(*queue);
                });
            });
}

// Those that nobody has registered, and of which no job is left: they would use up what their queue may have.
void forget_unused_types(const storage::Catalogue &catalogue, pg::Time now)
{
    for (const auto &entry : catalogue.queues)
        if (!entry.second.is_dropped)
            try_duty(Duty::unused_types, &entry.second, [&] {
                pg::with_transaction([&] {
                    storage::lock_or_raise(entry.second);
                    storage::forget_unused_types(entry.second, now + -unused_type_age);
                });
            });
}

void maintain_now(Maintenance &maintenance, pg::Time now)
{
    maintenance.is_left = false;
    has_trouble = false;
    const auto catalogue = read_catalogue();
    if (catalogue->queues.empty())
        return;
    forget_stale_cases();
    storage::Patience patience;
    const bool dropped = finish_drops(*catalogue, patience);
    const bool trees_done = maintain_trees(*catalogue, patience);
    prune_dead_letters(*catalogue, now);
    forget_made_jobs(*catalogue);
    forget_unused_types(*catalogue, now);
    maintenance.is_left = !dropped || !trees_done;
    maintenance.next = now + (maintenance.is_left ? retry_interval : maintenance_interval);
    if (has_trouble)
        maintenance.next = std::clamp(next_duty(), now + retry_interval, maintenance.next);
    maintenance.is_left = maintenance.is_left || has_trouble;
}

}  // namespace

pg::Time maintain(Maintenance &maintenance, pg::Time now, bool saw_dropped_queue)
{
    // A queue that was dropped just now goes at once; one that could not go, when its time comes.
    if (now >= maintenance.next || (saw_dropped_queue && !maintenance.is_left))
        maintain_now(maintenance, now);
    return maintenance.is_left ? maintenance.next : pg::infinity;  // also when something else has woken it before that time
}

}  // namespace hipq::worker
