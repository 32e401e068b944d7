// The jobs whose handler runs in this session.
#include "current_job.hpp"

#include "storage/permit.hpp"

namespace hipq::storage {

namespace {

constinit std::vector<CurrentJob> *current = nullptr;  // on the heap: no destructor at exit

constinit pg::Statement remove_row(R"(
    DELETE FROM hipq.job
    WHERE queue_id = $1 AND id = $2 AND attempt = $3 AND state IN ('initial', 'retry', 'running'))");

const CurrentJob *find_current(int queue_id, std::string_view type, std::string_view key)
{
    if (current == nullptr || current->empty() || key == "NONE")
        return nullptr;
    const auto found = std::find_if(current->begin(), current->end(), [&](const CurrentJob &job) {
        return job.key == key && job.type == type && job.queue_id == queue_id;
    });
    return found == current->end() ? nullptr : &*found;
}

}  // namespace

void set_current_jobs(std::vector<CurrentJob> jobs)
{
    if (current == nullptr)
        current = new std::vector<CurrentJob>();
    *current = std::move(jobs);
}

bool is_current_job(std::int64_t id)
{
    return current != nullptr &&
           std::any_of(current->begin(), current->end(), [&](const CurrentJob &job) { return job.id == id; });
}

void make_room_for_successor(int queue_id, std::string_view type, std::string_view key)
{
    const CurrentJob *job = find_current(queue_id, type, key);
    if (job == nullptr)
        return;
    if (job->may_commit)
        HIPQ_RAISE(
            errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
            errmsg("a procedure cannot enqueue a job with the type and key of its own job"),
            errhint("It may commit before it ends. Use hipq.enqueue() with on_duplicate => 'after', or a function as handler."));
    as_hipq([&] { remove_row.run(job->queue_id, job->id, job->attempt); });
}

}  // namespace hipq::storage
