// The job whose handler runs in this session.
#include "current_job.hpp"

#include "storage/permit.hpp"

namespace hipq::storage {

namespace {

constinit CurrentJob *current = nullptr;  // on the heap: no destructor at exit

constinit pg::Statement
    remove_running_row("DELETE FROM hipq.job WHERE queue_id = $1 AND id = $2 AND attempt = $3 AND state = 'running'");

}  // namespace

const CurrentJob *current_job()
{
    return current;
}

void set_current_job(std::optional<CurrentJob> job)
{
    CurrentJob *const next = job.has_value() ? new CurrentJob(std::move(*job)) : nullptr;
    delete std::exchange(current, next);
}

void make_room_for_successor(int queue_id, const std::string &type, const std::string &key)
{
    if (current == nullptr || key == "NONE" || key != current->key || type != current->type || queue_id != current->queue_id)
        return;
    if (current->may_commit)
        HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                   errmsg("a procedure cannot enqueue a job with the type and key of its own job"),
                   errhint("It may commit before it ends. Use a function as handler, or another job_key."));
    as_hipq([] { remove_running_row.run(current->queue_id, current->id, current->attempt); });
}

}  // namespace hipq::storage
