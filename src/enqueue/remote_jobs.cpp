// Hands new jobs of other nodes to the outbox.
//
// They are sent as they were given, with their ids and times: the receiving node fills in the rest,
// as it does for a job that is enqueued there.
#include "enqueue/remote_jobs.hpp"

#include "catalog/cache.hpp"
#include "enqueue/direct.hpp"
#include "job/job_row.hpp"
#include "job/made_by_handler.hpp"

namespace hipq::enqueue {

namespace {

using core::Column;

void fill_times(job::RowValues &job)
{
    const Datum transaction_start = TimestampTzGetDatum(::GetCurrentTransactionStartTimestamp());
    for (const Column column : {Column::scheduled_run_time, Column::created_time})
        if (job.null(column))
            job.set(column, transaction_start);
}

const catalog::Queue *require_present(const catalog::Catalogue &catalogue, int queue_id)
{
    const catalog::Queue *queue = catalogue.find(queue_id);
    if (queue == nullptr)
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("queue %d does not exist", queue_id));
    return queue;
}

void demand_known_on_duplicate(const catalog::Queue &queue, OnDuplicate on_duplicate)
{
    if (on_duplicate < OnDuplicate::replace)
        return;
    const std::string name = queue.full_name();
    HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
               errmsg("the job is another server's, and its key cannot be looked for there"),
               errdetail("Queue \"%s\" is sharded.", name.c_str()),
               errhint("Use on_duplicate => 'return', with which a job whose key is held when it "
                       "arrives is left out."));
}

}  // namespace

RemoteJobs::RemoteJobs(int queue_id)
    : catalogue_(catalog::catalogue_with_locked_maps()),
      queue_(require_present(*catalogue_, queue_id)), rows_(*queue_)
{
}

bool RemoteJobs::takes(job::RowValues &job)
{
    give_id(job, *catalogue_, *queue_);
    const auto node = nodes::destination(*queue_, job.as_int64(Column::id));
    if (node.has_value()) {
        if (nodes_.insert(*node).second)
            nodes::demand_room(*queue_, *node);
        fill_times(job);
        rows_.add(job, *node);
        return true;
    }
    if (nodes::may_be_busy(*queue_, job)) {
        fill_times(job);
        if (nodes::hold(*queue_, job, nodes::json_of(job), {queue_->shards->own_node, 0}))
            return true;
    }
    job::note_made_job(job.as_int64(Column::id), queue_->id);
    return false;
}

Sent send_elsewhere(const catalog::Queue &queue, const JobOptions &options,
                    std::span<const pg::RawValue> data, const Keys &keys, OnDuplicate on_duplicate)
{
    const job::RowValues chosen = chosen_values(queue, options);
    RemoteJobs remote_jobs(queue.id);
    Sent sent{};
    sent.ids.reserve(data.size());
    for (std::size_t i = 0; i < data.size(); ++i) {
        job::RowValues job =
            checked_job(chosen, queue, data[i], i < keys.size() ? keys[i] : std::nullopt);
        if (remote_jobs.takes(job))
            demand_known_on_duplicate(queue, on_duplicate);
        else
            sent.own.push_back(i);
        sent.ids.push_back(job.as_int64(Column::id));
    }
    remote_jobs.send();
    return sent;
}

}  // namespace hipq::enqueue
