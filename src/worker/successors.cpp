// It asks to be told of the ends of the jobs that have successors before it looks whether they have ended: so no end is missed.
#include "successors.hpp"

#include "pg/clock.hpp"
#include "pg/transaction.hpp"
#include "shmem/ends.hpp"
#include "storage/short_text.hpp"
#include "storage/successor.hpp"
#include "worker/duties.hpp"
#include "worker/process.hpp"

namespace hipq::worker {

namespace {

using storage::Queue;
using storage::Successor;

// Somebody is inserting a job with the key of a successor: he is waited for so long (ms), and looked at again after that (us).
constexpr int longest_lock = 10;
constexpr std::int64_t held_delay = 100'000;
constexpr std::int64_t failure_delay = 60'000'000;

void report_failure(const Queue &queue, const Successor &successor, const pg::Error &error)
{
    const std::string name = queue.full_name();
    const std::string message = storage::short_message(error);
    pg::call([&] {
        ereport(WARNING, errcode(error.sqlerrcode()),
                errmsg("cannot put the successor of type \"%s\" with key \"%s\" in queue \"%s\" in line: %s",
                       successor.type.c_str(), successor.key.c_str(), name.c_str(), message.c_str()),
                errdetail("It stays in hipq.successor and is tried again from time to time."));
    });
}

// Its queue is not locked, as far as anybody knows. Returns when it is to be tried again; infinity: need not be.
pg::Time put_in_line(const Queue &queue, const Successor &successor)
{
    std::optional<pg::Error> trouble;
    try {
        pg::with_transaction([&] {
            LockTimeout = longest_lock;
            storage::make_successor_a_job(queue, successor.type, successor.key);
        });
    } catch (const pg::Error &error) {
        if (error.sqlstate().starts_with("57"))  // this process is to end
            throw;
        trouble = error;
    }
    if (!trouble.has_value())
        return pg::infinity;
    if (storage::is_lock_trouble(*trouble))
        return pg::now() + held_delay;
    report_failure(queue, successor, *trouble);
    return pg::now() + failure_delay;
}

std::vector<const Queue *> queues_with_successors(const storage::Catalogue &catalogue)
{
    std::vector<int> ids;
    do_duty(core::Duty::successors, nullptr, [&] { pg::with_transaction([&] { ids = storage::queues_with_successors(); }); });
    std::vector<const Queue *> queues;
    for (const int id : ids)
        if (const Queue *queue = catalogue.find(id); queue != nullptr && !queue->is_dropped)
            queues.push_back(queue);
    return queues;
}

std::vector<Successor> successors_now(const Queue &queue)
{
    std::vector<Successor> found;
    do_duty(core::Duty::successors, &queue, [&] {
        pg::with_transaction([&] {
            storage::lock_or_raise(queue);
            found = storage::successors(queue);
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

pg::Time put_successors_in_line(const storage::Catalogue &catalogue)
{
    const std::vector<const Queue *> queues = queues_with_successors(catalogue);
    shmem::look_at_end_of(holders(queues));
    pg::Time next = pg::infinity;
    for (const Queue *queue : queues)
        for (const Successor &successor : successors_now(*queue)) {
            check_interrupts();
            next = std::min(next, successor.holder.has_value() ? pg::now() + longest_wait : put_in_line(*queue, successor));
        }
    return next;
}

}  // namespace hipq::worker
