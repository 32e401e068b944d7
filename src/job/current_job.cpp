// Keeps track of the jobs whose handler runs in this session.
#include "job/current_job.hpp"

#include "catalog/queue_statements.hpp"
#include "core/job/validate.hpp"
#include "pg/internal_write.hpp"
#include "settings.hpp"
#include "shared/lanes/in_flight.hpp"

namespace hipq::job {

namespace {

using core::Column;

constinit std::vector<CurrentJob> *current = nullptr;  // on the heap: no destructor at exit

constinit std::optional<std::int64_t> retry_after;  // microseconds

// A request of a handler, and the subtransaction in which it was made. A request of an earlier
// transaction of a procedure remains valid.
struct Wish {
    RequestedEnd end;
    SubTransactionId subtransaction;
};
// The last request counts. One is kept for each subtransaction in progress that has made any, outer
// ones first: subtransaction numbers grow.
constinit std::vector<Wish> *wishes = nullptr;
constinit bool is_watching = false;

// Callbacks at the end of transactions allocate nothing.
void keep_wish(SubTransactionId committed, SubTransactionId parent) noexcept
{
    if (wishes->empty() || wishes->back().subtransaction != committed)
        return;
    if (wishes->size() > 1 && wishes->end()[-2].subtransaction == parent)
        wishes->erase(wishes->end() - 2);
    wishes->back().subtransaction = parent;
}

void forget_wishes_since(SubTransactionId first) noexcept
{
    std::erase_if(*wishes, [&](const Wish &wish) { return wish.subtransaction >= first; });
}

extern "C" void hipq_wish_subtransaction_ends(SubXactEvent event, SubTransactionId ended,
                                              SubTransactionId parent, void *)
{
    if (event == SUBXACT_EVENT_COMMIT_SUB)
        keep_wish(ended, parent);
    else if (event == SUBXACT_EVENT_ABORT_SUB)
        forget_wishes_since(ended);
}

extern "C" void hipq_wish_transaction_ends(XactEvent event, void *)
{
    if (event == XACT_EVENT_COMMIT)
        keep_wish(TopSubTransactionId, InvalidSubTransactionId);
    else if (event == XACT_EVENT_ABORT)
        forget_wishes_since(TopSubTransactionId);
}

void watch_transactions()
{
    if (std::exchange(is_watching, true))
        return;
    pg::call([] {
        ::RegisterXactCallback(hipq_wish_transaction_ends, nullptr);
        ::RegisterSubXactCallback(hipq_wish_subtransaction_ends, nullptr);
    });
}

void request_end(const RequestedEnd &end, const Refusal &refusal)
{
    (void)require_current_job(refusal);
    if (wishes == nullptr)
        wishes = new std::vector<Wish>();
    watch_transactions();
    const SubTransactionId subtransaction = ::GetCurrentSubTransactionId();
    forget_wishes_since(subtransaction);
    wishes->push_back({end, subtransaction});
}

constexpr const char *remove_row_sql =
    "DELETE FROM {live} AS job WHERE job.id = $1 AND job.attempt = $2 AND job.state IN ('initial', "
    "'retry', 'running')";

const CurrentJob *find_current(const catalog::Queue &queue, const RowValues &row)
{
    if (current == nullptr || current->empty() || row.as_text(Column::job_key) == core::none_text)
        return nullptr;
    const core::UniqueScope scope = queue.unique_scope;
    const core::UniqueKey wanted = row.unique_key(scope);
    const auto found = std::find_if(current->begin(), current->end(), [&](const CurrentJob &job) {
        return job.key == wanted.key && job.type == wanted.type && job.queue_id == queue.id &&
               core::key_scope(scope, job.shard_key) == wanted.scope;
    });
    return found == current->end() ? nullptr : &*found;
}

}  // namespace

void set_current_jobs(std::vector<CurrentJob> jobs)
{
    if (current == nullptr)
        current = new std::vector<CurrentJob>();
    *current = std::move(jobs);
    const bool is_traced = current->size() == 1 && !current->front().traceparent.empty();
    settings::traceparent_of_job = is_traced ? current->front().traceparent.c_str() : nullptr;
    if (wishes != nullptr)
        wishes->clear();
    // Requests of the previous jobs are still read after their handler has ended.
    if (!current->empty())
        retry_after.reset();
}

bool runs_jobs()
{
    return current != nullptr && !current->empty();
}

std::vector<std::int64_t> current_jobs()
{
    std::vector<std::int64_t> ids;
    if (current != nullptr)
        for (const CurrentJob &job : *current)
            ids.push_back(job.id);
    return ids;
}

bool is_current_batch(std::int64_t batch_id)
{
    return current != nullptr && std::ranges::any_of(*current, [&](const CurrentJob &job) {
               return job.batch_id == batch_id;
           });
}

const CurrentJob &require_current_job(const Refusal &refusal)
{
    if (!runs_jobs())
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("no job runs in this session"), errhint("%s", refusal.outside_hint));
    if (current->front().is_of_batch)
        HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("%s", refusal.batch_message),
                   errhint("%s", refusal.batch_hint));
    return current->front();
}

void request_snooze(std::int64_t delay)
{
    request_end(
        {HandlerEnd::snoozed, delay},
        {"A handler can snooze its own job. Use hipq.reschedule() for a waiting one.",
         "a handler that takes batches cannot snooze",
         "Its jobs share one fate. Use a handler of one job, or enqueue new jobs for later."});
}

void request_complete_later()
{
    request_end({HandlerEnd::left_running, 0},
                {"A handler can leave its own job to be completed later.",
                 "a handler that takes batches cannot leave jobs to be completed later",
                 "Its jobs share one fate. Use a handler of one job."});
}

void request_retry_after(std::int64_t delay)
{
    if (runs_jobs())
        retry_after = delay;
}

std::optional<std::int64_t> requested_retry_after()
{
    return retry_after;
}

RequestedEnd requested_end()
{
    return wishes == nullptr || wishes->empty() ? RequestedEnd{HandlerEnd::finished, 0}
                                                : wishes->back().end;
}

bool is_current_job(std::int64_t id)
{
    return current != nullptr && std::any_of(current->begin(), current->end(),
                                             [&](const CurrentJob &job) { return job.id == id; });
}

std::optional<int> current_queue()
{
    return current == nullptr || current->empty() ? std::nullopt
                                                  : std::optional(current->front().queue_id);
}

bool is_running(std::int64_t id)
{
    return is_current_job(id) || lanes::is_running(MyDatabaseId, id);
}

bool is_running_in(int queue_id, std::int64_t id)
{
    return (is_current_job(id) && current_queue() == queue_id) ||
           lanes::is_running_in(MyDatabaseId, queue_id, id);
}

void make_capacity_for_successor(const catalog::Queue &queue, const RowValues &row)
{
    const CurrentJob *job = row.null(core::Column::waits_for) ? find_current(queue, row) : nullptr;
    if (job == nullptr)
        return;
    if (job->may_commit)
        HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                   errmsg("a procedure cannot enqueue a job with the type and key of its own job"),
                   errhint("It may commit before it ends. Use hipq.enqueue() with on_duplicate => "
                           "'after', or a function as handler."));
    pg::as_hipq([&] { catalog::statement_for(queue, remove_row_sql).run(job->id, job->attempt); });
}

}  // namespace hipq::job
