// The partition tree finds a job by the index on id of each leaf.
#include "find_job.hpp"

#include "pg/transaction.hpp"
#include "storage/current_job.hpp"
#include "storage/successor.hpp"

namespace hipq::storage {

namespace {

constinit pg::Statement find_anywhere(R"(
    SELECT job.queue_id, job.state::text, job.job_type, job.job_key, job.scheduled_run_time, job.expires_time, job.time_windows::text, job.throttle_key,
           (job.throttle_factor * 1000)::bigint, job.priority::integer
    FROM hipq.job AS job WHERE job.id = $1)");

constinit pg::Statement find_in_queue(R"(
    SELECT job.queue_id, job.state::text, job.job_type, job.job_key, job.scheduled_run_time, job.expires_time, job.time_windows::text, job.throttle_key,
           (job.throttle_factor * 1000)::bigint, job.priority::integer
    FROM hipq.job AS job WHERE job.id = $1 AND job.queue_id = $2)");

std::optional<FoundJob> find_among_successors(const Catalogue &catalogue, std::int64_t id, const Queue *named)
{
    const auto found = find_successor(id);
    const Queue *queue = found.has_value() ? catalogue.find(found->queue_id) : nullptr;
    if (queue == nullptr || (named != nullptr && named->id != queue->id))
        return std::nullopt;
    return FoundJob{queue,
                    id,
                    core::JobState::initial,
                    found->type,
                    found->key,
                    found->due,
                    found->expires,
                    found->time_windows,
                    found->throttle_key,
                    found->weight,
                    found->priority,
                    true};
}

}  // namespace

void raise_unknown_job(std::int64_t id)
{
    HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("job %lld does not exist", static_cast<long long>(id)),
               errhint("Final jobs are removed after the queue's retention."));
}

std::optional<FoundJob> find_job(const Catalogue &catalogue, std::int64_t id, const std::optional<std::string> &queue_name)
{
    const Queue *named = queue_name.has_value() ? &require_known_queue(catalogue, *queue_name) : nullptr;
    const pg::Rows rows =
        pg::as_extension_owner([&] { return named != nullptr ? find_in_queue.run(id, named->id) : find_anywhere.run(id); });
    if (rows.empty())
        return find_among_successors(catalogue, id, named);
    const pg::Row row = rows.front();
    const Queue *queue = catalogue.find(row.integer32(0));
    if (queue == nullptr)
        return std::nullopt;
    core::JobState state = core::parse_job_state(row.text(1)).value();
    if (core::is_waiting(state) && is_running(id))
        state = core::JobState::running;
    return FoundJob{queue,       id,          state,       row.text(2),    row.text(3),     row.time(4),
                    row.time(5), row.text(6), row.text(7), row.integer(8), row.integer32(9)};
}

FoundJob require_job(const Catalogue &catalogue, std::int64_t id, const std::optional<std::string> &queue, Privilege privilege)
{
    const auto job = find_job(catalogue, id, queue);
    if (!job.has_value())
        raise_unknown_job(id);
    if (!may(caller(), *job->queue, privilege)) {
        if (!may(caller(), *job->queue, Privilege::read) && !may(caller(), *job->queue, Privilege::enqueue))
            raise_unknown_job(id);
        require(*job->queue, privilege);
    }
    return *job;
}

}  // namespace hipq::storage
