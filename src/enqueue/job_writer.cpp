// Checks, completes and writes the jobs of a COPY or an INSERT.
#include "enqueue/job_writer.hpp"

#include "core/job/validate.hpp"
#include "enqueue/new_job.hpp"
#include "job/current_job.hpp"

namespace hipq::enqueue {

using core::Column;
using job::RowValues;

namespace {

bool has_key(const RowValues &job)
{
    return job.as_text(Column::job_key) != core::none_text;
}

}  // namespace

RowValues chosen_row(const job::ColumnMap &map, const Datum *values, const bool *nulls)
{
    RowValues row{};
    row.nulls.fill(true);
    for (std::size_t i = 0; i < core::column_count; ++i) {
        const auto column = static_cast<Column>(i);
        const int place = map[i] - 1;
        if (place >= 0 && !nulls[place] && core::kind(column) != core::ColumnKind::bookkeeping)
            row.set(column, values[place]);
    }
    return row;
}

JobWriter::JobWriter(NewRows rows, int queue_id) : rows_(rows), queue_id_(queue_id)
{
    look_at_catalogue();
}

void JobWriter::check(RowValues &job) const
{
    job.set(Column::queue_id, Int32GetDatum(queue_id_));
    demand_job_type(job);
    check_new_job(job, *queue_);
}

// Inserts a complete job.
void JobWriter::insert(RowValues &job)
{
    if (has_key(job)) {
        job::make_capacity_for_successor(*queue_, job);
        rows_.insert_or_raise(job);
    } else if (!rows_.insert({&job, 1})) {
        refuse_ids_in_use(*queue_);
    }
    note_new_job(rows_.leaf(), job, *queue_);
}

void JobWriter::write(RowValues job)
{
    check(job);
    ++count_;
    if (remote_jobs_ != nullptr && remote_jobs_->takes(job))
        return;
    fill_new_job(job, catalogue_, *queue_);
    if (!has_key(job)) {
        jobs_.push_back(job);
        return;
    }
    write_pending();
    insert(job);
}

RowValues JobWriter::write_now(RowValues job)
{
    look_at_catalogue();
    check(job);
    ++count_;
    fill_new_job(job, catalogue_, *queue_);
    insert(job);
    return job;
}

bool JobWriter::is_full(MemoryContext memory) const
{
    return jobs_.size() >= rows_at_once ||
           ::MemoryContextMemAllocated(memory, false) >= bytes_at_once;
}

void JobWriter::write_pending()
{
    if (!rows_.insert(jobs_))
        refuse_ids_in_use(*queue_);
    for (const RowValues &job : jobs_)
        note_new_job(rows_.leaf(), job, *queue_);
    jobs_.clear();
    if (remote_jobs_ != nullptr)
        remote_jobs_->send();
}

void JobWriter::look_at_catalogue()
{
    catalogue_ = catalog::catalogue();
    queue_ = catalogue_->find(queue_id_);
    if (queue_ == nullptr)
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("queue %d does not exist", queue_id_));
    remote_jobs_ = queue_->shards == nullptr ? nullptr : std::make_unique<RemoteJobs>(queue_id_);
}

}  // namespace hipq::enqueue
