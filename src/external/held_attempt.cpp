// Finds and locks the attempts that external workers name.
//
// Shared memory says in which queue a worker's job is. If it has no entry (there was no room, or
// the attempt is over), the tables say it.
#include "external/held_attempt.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "catalog/rights.hpp"
#include "external/attempt_rows.hpp"
#include "external/own_worker.hpp"
#include "job/claimed_job.hpp"
#include "job/current_job.hpp"
#include "job/find_job.hpp"
#include "job/two_phase.hpp"
#include "pg/error_codes.hpp"
#include "pg/internal_write.hpp"
#include "shared/workers/jobs.hpp"
#include "shared/workers/registered.hpp"

namespace hipq::external {

namespace {

using catalog::Catalogue;
using catalog::Queue;
using job::ClaimedJob;

constexpr const char *job_status_sql =
    "SELECT job.state::text, job.attempt, job.worker_id FROM {table} AS job WHERE job.id = $1";

constexpr const char *key_sql = R"(
    SELECT job.id, job.state::text, job.worker_id
    FROM {live} AS job
    WHERE job.job_type = $1 AND job.job_key = $2 AND job.job_key <> 'NONE'
      {+AND ($3 IS NULL OR job.shard_key COLLATE "C" = $3)+}
    LIMIT 2)";

// ---- ownership ----

bool is_own(std::int64_t worker)
{
    return worker != 0 && role_of(worker) == catalog::caller();
}

bool is_callers(const Queue &queue, std::int64_t worker)
{
    return (worker == 0 || is_own(worker)) &&
           catalog::may(catalog::caller(), queue, catalog::Privilege::work);
}

// The caller's worker holds the job, but the caller has lost the work privilege. The error says so
// whatever else the caller may see.
[[noreturn]] void raise_revoked(const Queue &queue, std::int64_t id)
{
    const std::string name = queue.full_name();
    HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
               errmsg("permission denied for job %lld", static_cast<long long>(id)),
               errdetail("Privilege \"work\" on queue \"%s\" is needed; it was revoked since the "
                         "job was claimed.",
                         name.c_str()),
               errhint("The job is given to another worker."));
}

[[noreturn]] void raise_foreign(const Queue &queue, std::int64_t id, std::int64_t worker)
{
    if (is_own(worker))
        raise_revoked(queue, id);
    if (worker == 0)
        catalog::require(queue, catalog::Privilege::work);
    HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
               errmsg("job %lld is held by another role's worker", static_cast<long long>(id)),
               errhint("Only the role that registered the worker can say what becomes of it; "
                       "hipq.fail_job() gives up the attempt."));
}

void require_callers(const Queue &queue, std::int64_t id, std::int64_t worker)
{
    if (!is_callers(queue, worker))
        raise_foreign(queue, id, worker);
}

void note_sign_of_life(std::int64_t worker)
{
    if (worker != 0)
        workers::note_heartbeat(worker, nullptr);
}

HeldAttempt held(const Queue &queue, ClaimedJob job)
{
    job::forbid_two_phase(job::NoTwoPhase::job_taken);
    note_sign_of_life(*job.worker_id);
    return {&queue, std::move(job)};
}

// ---- errors for other states of the job ----

bool is_with_executor(std::int64_t id)
{
    return job::is_running(id) && !workers::is_with_worker(MyDatabaseId, id);
}

[[noreturn]] void raise_executors(std::int64_t id)
{
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
               errmsg("an executor runs job %lld", static_cast<long long>(id)),
               errhint("Its handler ends it; hipq.cancel() stops it."));
}

// The state of the job in its row.
struct JobStatus {
    std::string state;
    int attempt;
    std::optional<std::int64_t> worker;  // none: an executor has it; 0: it was left running

    bool is(int number) const { return state == "running" && attempt == number; }
    bool is_outside(int number) const { return is(number) && worker.has_value(); }
};

// Returns the latest committed state; nothing if there is no such job.
std::optional<JobStatus> job_status(const Queue &queue, std::int64_t id)
{
    const pg::Rows rows =
        pg::as_hipq([&] { return catalog::statement_for(queue, job_status_sql).run_latest(id); });
    if (rows.empty())
        return std::nullopt;
    const pg::Row row = rows.front();
    return JobStatus{row.text(0), row.integer32(1), row.maybe_integer(2)};
}

JobStatus require_job_status(const Queue &queue, std::int64_t id)
{
    auto status = job_status(queue, id);
    if (!status.has_value())
        job::raise_unknown_job(id);
    return *std::move(status);
}

// A worker is offered the job.
[[noreturn]] void raise_not_accepted(std::int64_t id)
{
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
               errmsg("job %lld has not been accepted", static_cast<long long>(id)),
               errhint("Accept it with hipq.claim() first."));
}

[[noreturn]] void raise_over(const JobStatus &standing, AttemptName name)
{
    if ((standing.state == "initial" || standing.state == "retry") &&
        standing.attempt + 1 == name.number && workers::is_with_worker(MyDatabaseId, name.id))
        raise_not_accepted(name.id);
    const bool is_locked = is_with_executor(name.id) && standing.state != "running";
    if (is_locked ? standing.attempt + 1 == name.number
                  : standing.is(name.number) && !standing.worker.has_value())
        raise_executors(name.id);
    HIPQ_RAISE(
        errcode(pg::errcode_attempt_is_over),
        errmsg("attempt %d of job %lld is over", name.number, static_cast<long long>(name.id)),
        errdetail("The job is in state \"%s\", attempt %d.", standing.state.c_str(),
                  standing.attempt),
        errhint("Nothing was changed. Claim the next job."));
}

pg::Rows jobs_with_key(const Queue &queue, const JobKey &key)
{
    return pg::as_hipq([&] {
        return catalog::statement_for(queue, key_sql).run_latest(key.type, key.key, key.shard_key);
    });
}

// Where keys are unique for each shard key, several jobs may have one key. A caller that gives no
// shard key may mean a job that does not run.
void demand_one_job(const Queue &queue, const JobKey &key)
{
    const std::string name = queue.full_name();
    if (key.shard_key.has_value() && !queue.has_keys_by_shard())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("keys of queue \"%s\" are unique in the whole queue", name.c_str()),
                   errhint("Leave shard_key out."));
    if (queue.has_keys_by_shard() && !key.shard_key.has_value() &&
        jobs_with_key(queue, key).size() > 1)
        HIPQ_RAISE(errcode(ERRCODE_CARDINALITY_VIOLATION),
                   errmsg("queue \"%s\" has several unfinished jobs of type \"%s\" with key \"%s\"",
                          name.c_str(), key.type.c_str(), key.key.c_str()),
                   errdetail("Its keys are unique for each shard key."),
                   errhint("Give shard_key, or name the job by its id with hipq.complete() or "
                           "hipq.fail()."));
}

[[noreturn]] void raise_without_attempt(const Queue &queue, const JobKey &key)
{
    const pg::Rows rows = jobs_with_key(queue, key);
    const std::string name = queue.full_name();
    if (rows.empty())
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
                   errmsg("queue \"%s\" has no unfinished job of type \"%s\" with key \"%s\"",
                          name.c_str(), key.type.c_str(), key.key.c_str()));
    const pg::Row row = rows.front();
    const std::string state = row.text(1);
    const auto id = static_cast<long long>(row.integer(0));
    if (is_with_executor(id) || (state == "running" && row.null(2)))
        raise_executors(id);
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
               errmsg("job %lld does not run", id),
               errdetail("It is in state \"%s\".", state.c_str()));
}

// ---- finding the job ----

// Without a queue: there is no such job.
struct Whereabouts {
    const Queue *queue = nullptr;
    ItemPointerData place{};  // like job::DueJob::place
};

Whereabouts whereabouts_of(const Catalogue &catalogue, std::int64_t id)
{
    if (const auto entry = workers::find_external_job(id))
        if (const Queue *queue = catalogue.find(entry->queue_id))
            return {queue, entry->place};
    const auto job = job::find_job(catalogue, id, std::nullopt);
    return job.has_value() ? Whereabouts{job->queue} : Whereabouts{};
}

const Queue *queue_of(const Catalogue &catalogue, std::int64_t id)
{
    return whereabouts_of(catalogue, id).queue;
}

// Returns whether the caller may know of attempts of the queue. To other roles, and to roles that
// may only enqueue, its jobs do not exist: they neither wait for a row nor learn its state.
bool may_know_attempts(const Queue &queue)
{
    const Oid role = catalog::caller();
    return catalog::may(role, queue, catalog::Privilege::work) ||
           catalog::may(role, queue, catalog::Privilege::read) ||
           catalog::may(role, queue, catalog::Privilege::operate);
}

// Returns whether a worker of the caller's role holds the job. The role knows of it even if it has
// lost the work privilege.
bool is_with_own_worker(std::int64_t id)
{
    const auto entry = workers::find_external_job(id);
    return entry.has_value() && entry->worker_id != 0 &&
           role_of(entry->worker_id) == catalog::caller();
}

bool may_know(const Queue &queue, std::int64_t id)
{
    return may_know_attempts(queue) || is_with_own_worker(id);
}

const Queue &require_queue_of(const Catalogue &catalogue, std::int64_t id)
{
    const Queue *queue = queue_of(catalogue, id);
    if (queue == nullptr || !may_know(*queue, id))
        job::raise_unknown_job(id);
    return *queue;
}

// ---- many ----

// Orders queues by number, so that all sessions lock in the same order.
struct ByNumber {
    bool operator()(const Queue *left, const Queue *right) const { return left->id < right->id; }
};
using AttemptsByQueue = std::map<const Queue *, Attempts, ByNumber>;

// Groups by queue the attempts that the caller may know of.
AttemptsByQueue by_queue(const Catalogue &catalogue, std::span<const AttemptName> names)
{
    AttemptsByQueue queues;
    std::map<const Queue *, bool> may_know_all;
    for (const AttemptName name : names) {
        const auto [queue, place] = whereabouts_of(catalogue, name.id);
        if (queue == nullptr)
            continue;
        const auto [known, is_new] = may_know_all.try_emplace(queue, false);
        if (is_new)
            known->second = may_know_attempts(*queue);
        if (!known->second && !is_with_own_worker(name.id))
            continue;
        queues[queue].add(name.id, name.number, place);
    }
    return queues;
}

// Check ownership, and record a heartbeat, once per worker.
void hold_of_queue(const Queue &queue, const Attempts &attempts, Hold hold,
                   std::vector<HeldAttempt> &all)
{
    std::set<std::int64_t> workers;
    for (ClaimedJob &job : hold_rows(queue, attempts, hold)) {
        if (workers.insert(*job.worker_id).second) {
            require_callers(queue, job.id, *job.worker_id);
            note_sign_of_life(*job.worker_id);
        }
        all.push_back({&queue, std::move(job)});
    }
    if (!workers.empty())
        job::forbid_two_phase(job::NoTwoPhase::job_taken);
}

}  // namespace

HeldAttempt hold_attempt(const Catalogue &catalogue, AttemptName name)
{
    const Queue &queue = require_queue_of(catalogue, name.id);
    auto job = hold_row(queue, name.id, name.number);
    if (!job.has_value())
        raise_over(require_job_status(queue, name.id), name);
    require_callers(queue, job->id, *job->worker_id);
    return held(queue, std::move(*job));
}

void look_at_attempt(const Catalogue &catalogue, AttemptName name)
{
    const Queue &queue = require_queue_of(catalogue, name.id);
    const JobStatus standing = require_job_status(queue, name.id);
    if (!standing.is_outside(name.number))
        raise_over(standing, name);
    require_callers(queue, name.id, *standing.worker);
    note_sign_of_life(*standing.worker);
}

std::vector<std::int64_t> look_at_attempts(const Catalogue &catalogue,
                                           std::span<const AttemptName> names)
{
    std::vector<std::int64_t> ids;
    for (const AttemptName name : names) {
        const Queue *queue = queue_of(catalogue, name.id);
        if (queue == nullptr || !may_know(*queue, name.id))
            continue;
        const auto status = job_status(*queue, name.id);
        if (!status.has_value() || !status->is_outside(name.number))
            continue;
        require_callers(*queue, name.id, *status->worker);
        note_sign_of_life(*status->worker);
        ids.push_back(name.id);
    }
    return ids;
}

std::vector<HeldAttempt> hold_attempts(const Catalogue &catalogue, std::vector<AttemptName> names,
                                       Hold hold)
{
    // All sessions use the same order, because they wait for each other's rows.
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::vector<HeldAttempt> all;
    for (const auto &[queue, attempts] : by_queue(catalogue, names))
        hold_of_queue(*queue, attempts, hold, all);
    std::ranges::sort(all, {}, [](const HeldAttempt &attempt) { return attempt.job.id; });
    return all;
}

JobKey job_key_of(const pg::Arguments &arguments)
{
    return {arguments.text("job_type"), arguments.text("job_key"),
            arguments.maybe_text("shard_key")};
}

HeldAttempt hold_attempt(const Catalogue &catalogue, const std::string &queue_name,
                         const JobKey &key)
{
    const Queue &queue = catalog::require_known_queue(catalogue, queue_name);
    catalog::require(queue, catalog::Privilege::work);
    demand_one_job(queue, key);
    auto job = hold_row(queue, key.type, key.key, key.shard_key);
    if (!job.has_value())
        raise_without_attempt(queue, key);
    require_callers(queue, job->id, *job->worker_id);
    return held(queue, std::move(*job));
}

void check_same_number(std::size_t ids, std::size_t others, const char *name)
{
    if (ids != others)
        HIPQ_RAISE(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                   errmsg("ids and %s differ in length", name),
                   errdetail("There are %zu ids and %zu %s.", ids, others, name));
}

std::vector<AttemptName> attempt_names(const pg::Arguments &arguments)
{
    const std::vector<std::int64_t> jobs = arguments.integers64({0, "ids"});
    const std::vector<std::int32_t> numbers = arguments.integers({1, "attempts"});
    check_same_number(jobs.size(), numbers.size(), "attempts");
    std::vector<AttemptName> names;
    for (std::size_t i = 0; i < jobs.size(); ++i)
        names.push_back({jobs[i], numbers[i]});
    return names;
}

}  // namespace hipq::external
