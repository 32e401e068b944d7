// Counts the jobs that the current transaction puts into batches.
//
// A transaction that adds jobs holds a shared lock of the batch, and reads under it whether the
// batch is closed. The scheduler takes the lock exclusively for a moment before it judges whether a
// batch is complete: then no transaction that has seen the batch open is under way.
#include "job/batches/batch_joins.hpp"

#include "catalog/queue_statements.hpp"
#include "catalog/rights.hpp"
#include "job/batches/batch_rows.hpp"
#include "job/current_job.hpp"
#include "pg/internal_write.hpp"
#include "pg/known_table.hpp"
#include "pg/transaction.hpp"
#include "shared/wakeup/watched_jobs.hpp"

extern "C" {
#include "storage/lock.h"
}

namespace hipq::job {

namespace {

using core::Column;

struct Join {
    std::int64_t batch_id;
    int queue_id;
    SubTransactionId made_in;
    std::int64_t jobs = 0;
    std::vector<std::int64_t> uncertain{};  // jobs that the statement may have left out
};
using Joins = std::vector<Join>;
constinit Joins *joins = nullptr;  // on the heap: no destructor at exit

// ---- the lock. Call inside pg::call() only ----

LOCKTAG tag_of(std::int64_t batch_id)
{
    constexpr int bits_of_low_part = 32;
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, MyDatabaseId, pg::known_table("batch")->oid,
                       static_cast<std::uint32_t>(batch_id),
                       static_cast<std::uint16_t>(batch_id >> bits_of_low_part));
    return tag;
}

// ---- the end of a transaction ----

constinit pg::Statement insert_join(R"(
    INSERT INTO hipq.batch_join (batch_id, queue_id, jobs) VALUES ($1, $2, $3))");

constexpr const char *count_sql = "SELECT count(*) FROM {table} AS job WHERE job.id = ANY ($1)";

std::int64_t count_written(const Join &join)
{
    if (join.uncertain.empty())
        return join.jobs;
    const auto catalogue = catalog::catalogue();
    const catalog::Queue *queue = catalogue->find(join.queue_id);
    if (queue == nullptr)
        return join.jobs;
    return join.jobs +
           catalog::statement_for(*queue, count_sql).run(join.uncertain).front().integer(0);
}

// A batch that was closed meanwhile may be complete after the commit.
void write(const Join &join)
{
    const std::int64_t jobs = count_written(join);
    if (jobs == 0)
        return;
    insert_join.run(join.batch_id, join.queue_id, jobs);
    if (const auto batch = find_batch(join.batch_id);
        batch.has_value() && !batch->is_open(pg::now()))
        wakeup::watch_older_job(join.batch_id);
}

// A savepoint that is released gives its jobs to the transaction around it. Callbacks at its end
// allocate nothing.
void hand_on(SubTransactionId ended, SubTransactionId parent) noexcept
{
    for (Join &join : *joins)
        if (join.made_in == ended)
            join.made_in = parent;
    // Loops with a savepoint for each job would leave an entry for each.
    for (auto join = joins->begin(); join != joins->end();) {
        const auto same = std::find_if(joins->begin(), join, [&](const Join &other) {
            return other.batch_id == join->batch_id && other.queue_id == join->queue_id &&
                   other.made_in == join->made_in;
        });
        if (same == join || !join->uncertain.empty()) {
            ++join;
            continue;
        }
        same->jobs += join->jobs;
        join = joins->erase(join);
    }
}

extern "C" void hipq_joining_subtransaction_ends(SubXactEvent event, SubTransactionId ended,
                                                 SubTransactionId parent, void *)
{
    if (event == SUBXACT_EVENT_COMMIT_SUB)
        hand_on(ended, parent);
    else if (event == SUBXACT_EVENT_ABORT_SUB)
        std::erase_if(*joins, [&](const Join &join) { return join.made_in >= ended; });
}

extern "C" void hipq_joining_transaction_ends(XactEvent event, void *)
{
    if (event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE)
        pg::enter([] { pg::as_hipq([] { std::ranges::for_each(*joins, write); }); });
    else
        joins->clear();
}

void watch_joins()
{
    if (joins != nullptr)
        return;
    joins = new Joins();
    pg::call([] {
        ::RegisterXactCallback(hipq_joining_transaction_ends, nullptr);
        ::RegisterSubXactCallback(hipq_joining_subtransaction_ends, nullptr);
    });
}

// ---- joining ----

constexpr const char *is_running_sql = R"(
    SELECT EXISTS (SELECT FROM {live} AS job WHERE job.batch_id = $1 AND job.state = 'running'))";

// Whether a job of the batch runs: the one whose handler calls, or another one, whose worker may
// call.
bool runs_job_of(const catalog::Catalogue &catalogue, std::int64_t id)
{
    if (is_current_batch(id))
        return true;
    const auto queues = queues_of_batch(catalogue, id);
    return std::ranges::any_of(queues, [&](const catalog::Queue *queue) {
        return pg::as_hipq([&] {
            return catalog::statement_for(*queue, is_running_sql).run(id).front().boolean(0);
        });
    });
}

// Until the end of the transaction.
void lock_to_join(std::int64_t id)
{
    pg::call([&] {
        const LOCKTAG tag = tag_of(id);
        (void)::LockAcquire(&tag, ShareLock, false, false);
    });
}

// Reads the batch under its lock.
void demand_open(std::int64_t id)
{
    const auto catalogue = catalog::catalogue();
    lock_to_join(id);
    const Batch batch = require_batch(*catalogue, id, catalog::Privilege::enqueue);
    if (!batch.is_open(pg::now()) && !runs_job_of(*catalogue, id))
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("batch %lld is closed", static_cast<long long>(id)),
                   errdetail("While a job of a closed batch runs, its handler or worker may add "
                             "jobs to it, but none runs."));
}

Join &join_of(const catalog::Queue &queue, std::int64_t batch_id)
{
    watch_joins();
    const SubTransactionId present = ::GetCurrentSubTransactionId();
    bool has_joined = false;
    for (auto join = joins->rbegin(); join != joins->rend(); ++join) {
        has_joined = has_joined || join->batch_id == batch_id;
        if (join->batch_id == batch_id && join->queue_id == queue.id && join->made_in == present)
            return *join;
    }
    if (!has_joined)
        demand_open(batch_id);
    return joins->emplace_back(Join{batch_id, queue.id, present});
}

}  // namespace

void join_batch(const catalog::Queue &queue, const RowValues &job, Written written)
{
    if (job.null(Column::batch_id))
        return;
    Join &join = join_of(queue, job.as_int64(Column::batch_id));
    if (written == Written::is_certain)
        ++join.jobs;
    else
        join.uncertain.push_back(job.as_int64(Column::id));
}

void own_new_batch(const catalog::Queue &queue, std::int64_t batch_id)
{
    watch_joins();
    lock_to_join(batch_id);
    joins->emplace_back(Join{batch_id, queue.id, ::GetCurrentSubTransactionId()});
}

Added added_to_batch(std::int64_t batch_id)
{
    Added added;
    if (joins != nullptr)
        for (const Join &join : *joins)
            if (join.batch_id == batch_id) {
                added.queue_ids.insert(join.queue_id);
                added.jobs += pg::as_hipq([&] { return count_written(join); });
            }
    return added;
}

bool is_batch_joined(std::int64_t batch_id)
{
    return pg::call([&] {
        const LOCKTAG tag = tag_of(batch_id);
        if (::LockAcquire(&tag, ExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
            return true;
        (void)::LockRelease(&tag, ExclusiveLock, false);
        return false;
    });
}

}  // namespace hipq::job
