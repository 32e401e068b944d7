// Enqueues successors whose predecessor has ended: a duty of the scheduler.
//
// It registers for the ends of the jobs that have successors before it checks whether they have
// ended, so no end is missed.
#include "enqueue/enqueue.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_lock.hpp"
#include "enqueue/successor.hpp"
#include "job/successor_rows.hpp"
#include "pg/clock.hpp"
#include "pg/error_classes.hpp"
#include "pg/short_text.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"
#include "shared/wakeup/completion_waiters.hpp"

namespace hipq::enqueue {

namespace {

using catalog::Queue;
using job::Successor;

// If another transaction is inserting a job with the key of a successor: how long to wait for it
// (ms), and when to look again after that (us).
constexpr int longest_lock = 10;
constexpr std::int64_t held_delay = 100'000;
constexpr std::int64_t failure_delay = 60'000'000;

void report_failure(const Queue &queue, const Successor &successor, const pg::Error &error)
{
    const std::string name = queue.full_name();
    const std::string message = pg::short_message(error);
    pg::call([&] {
        ereport(WARNING, errcode(error.sqlerrcode()),
                errmsg("cannot put the successor of type \"%s\" with key \"%s\" in queue \"%s\" in "
                       "line: %s",
                       successor.type.c_str(), successor.key.c_str(), name.c_str(),
                       message.c_str()),
                errdetail("It stays in hipq.successor and is tried again from time to time."));
    });
}

// The queue was found not to be locked. Returns when to try again; infinity: not needed.
pg::Time put_into_lane(const Queue &queue, const Successor &successor)
{
    std::optional<pg::Error> trouble;
    try {
        pg::with_transaction([&] {
            LockTimeout = longest_lock;
            make_successor_a_job(queue, successor.unique_key());
        });
    } catch (const pg::Error &error) {
        if (error.sqlstate().starts_with("57"))  // this process must end
            throw;
        trouble = error;
    }
    if (!trouble.has_value())
        return pg::infinity;
    if (pg::is_lock_trouble(*trouble))
        return pg::now() + held_delay;
    report_failure(queue, successor, *trouble);
    return pg::now() + failure_delay;
}

std::vector<const Queue *> queues_with_successors(const catalog::Catalogue &catalogue)
{
    std::vector<int> ids;
    process::do_duty(core::Duty::successors, nullptr,
                     [&] { pg::with_transaction([&] { ids = job::queues_with_successors(); }); });
    std::vector<const Queue *> queues;
    for (const int id : ids)
        if (const Queue *queue = catalogue.find(id); queue != nullptr && !queue->is_dropped)
            queues.push_back(queue);
    return queues;
}

std::vector<Successor> successors_now(const Queue &queue)
{
    std::vector<Successor> found;
    process::do_duty(core::Duty::successors, &queue, [&] {
        pg::with_transaction([&] {
            catalog::lock_or_raise(queue);
            found = job::successors(queue);
        });
    });
    return found;
}

std::vector<std::int64_t> holders(const std::vector<const Queue *> &queues)
{
    std::vector<std::int64_t> ids;
    for (const Queue *queue : queues)
        for (const Successor &successor : successors_now(*queue))
            if (successor.holder.has_value())
                ids.push_back(*successor.holder);
    return ids;
}

}  // namespace

pg::Time enqueue_successors(const catalog::Catalogue &catalogue)
{
    const std::vector<const Queue *> queues = queues_with_successors(catalogue);
    wakeup::look_at_end_of(holders(queues));
    pg::Time next = pg::infinity;
    for (const Queue *queue : queues)
        for (const Successor &successor : successors_now(*queue)) {
            process::check_interrupts();
            next = std::min(next, successor.holder.has_value() ? pg::now() + process::longest_wait
                                                               : put_into_lane(*queue, successor));
        }
    return next;
}

}  // namespace hipq::enqueue
