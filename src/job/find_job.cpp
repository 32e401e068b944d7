// Finds a job by its id, in any state and queue.
//
// A queue's partition tree finds a job by the index on id of each leaf. The indexes alone tell
// which queues may have the job, usually one. Each of these queues is searched separately, because
// a statement over hipq.job would wait for a lock on the tables of any of them. All live leaves
// come first, as most callers look for an unfinished job; a job that becomes final in the meantime
// is found by the second search.
#include "job/find_job.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_hold.hpp"
#include "catalog/queue_lock.hpp"
#include "catalog/queue_statements.hpp"
#include "catalog/rights.hpp"
#include "catalog/visible_queues.hpp"
#include "core/shards/ids.hpp"
#include "job/aimed_jobs.hpp"
#include "job/current_job.hpp"
#include "job/id_index.hpp"
#include "pg/known_table.hpp"
#include "pg/subtransaction.hpp"
#include "pg/transaction.hpp"

extern "C" {
#include "utils/plancache.h"
}

namespace hipq::job {

namespace {

#define HIPQ_FOUND_COLUMNS                                                                         \
    "SELECT job.state::text, job.job_type, job.job_key, job.scheduled_run_time, "                  \
    "job.expires_time, job.time_windows::text, "                                                   \
    "job.throttle_key, (job.throttle_factor * 1000)::bigint, job.priority::integer, job.state = "  \
    "'initial' AND " HIPQ_IS_AIMED ", {waits_for of job} "
constexpr const char *find_unfinished_sql =
    HIPQ_FOUND_COLUMNS "FROM {live} AS job WHERE job.id = $1";
constexpr const char *find_sql = HIPQ_FOUND_COLUMNS "FROM {table} AS job WHERE job.id = $1";

// While an object of this class exists, statements get one generic plan: five custom plans for each
// queue would take longer than all searches of a session.
class OnePlan {
public:
    OnePlan() : before_(std::exchange(plan_cache_mode, PLAN_CACHE_MODE_FORCE_GENERIC_PLAN)) {}
    ~OnePlan() { plan_cache_mode = before_; }
    OnePlan(const OnePlan &) = delete;
    OnePlan &operator=(const OnePlan &) = delete;

private:
    int before_;
};

// How long to wait for a lock on a queue's tables (in ms): first for a moment, then, if the job is
// in no other queue, as long as a change of tables may take.
constexpr int first_wait = 1;
constexpr int longest_wait = 400;

using Queues = std::vector<const catalog::Queue *>;

FoundJob found_in(const catalog::Queue &queue, std::int64_t id, const pg::Row &row)
{
    core::JobState state = core::parse_job_state(row.text(0)).value();
    if (core::is_waiting(state) && is_running(id))
        state = core::JobState::running;
    return FoundJob{&queue,
                    id,
                    state,
                    row.text(1),
                    row.text(2),
                    row.time(3),
                    row.time(4),
                    row.text(5),
                    row.text(6),
                    row.integer(7),
                    row.integer32(8),
                    row.boolean(9),
                    core::parse_waits_for(row.text(10))};
}

// A search: a statement, and the table that it reads.
struct Look {
    const char *sql;
    bool in_live_leaf;  // the live leaf only
};
constexpr Look unfinished{find_unfinished_sql, true};
constexpr Look anywhere{find_sql, false};

// For an event trigger that searches, the tables of a queue that is just being created may not
// exist yet.
std::optional<FoundJob> look_into(const catalog::Queue &queue, const Look &look, std::int64_t id)
{
    const std::string table = look.in_live_leaf ? queue.live_table() : queue.table;
    if (pg::call([&] { return pg::known_table(table.c_str()); }) == nullptr)
        return std::nullopt;
    const pg::Rows rows = catalog::statement_for(queue, look.sql).run(id);
    return rows.empty() ? std::nullopt : std::optional(found_in(queue, id, rows.front()));
}

// Searches the queues one by one. Leaves in `queues` those that it could not search in that time
// because their tables are locked. Keeps none of its locks, which are a dozen for each queue.
std::optional<FoundJob> look_into(Queues &queues, const Look &look, std::int64_t id,
                                  int milliseconds)
{
    const OnePlan one_plan;
    std::optional<FoundJob> found;
    const auto is_done = [&](const catalog::Queue *queue) {
        if (found.has_value())
            return false;
        return pg::with_lock_limit(milliseconds, pg::Ending::rolled_back,
                                   [&] { found = look_into(*queue, look, id); });
    };
    pg::as_extension_owner([&] { std::erase_if(queues, is_done); });
    return found;
}

// The queues to search: those that the caller has a right on. For other callers the job does not
// exist.
Queues queues_to_look_into(const catalog::Catalogue &catalogue, std::int64_t id,
                           const catalog::Queue *named)
{
    if (named != nullptr)
        return {named};
    Queues queues;
    for (const auto &entry : catalogue.queues)
        if (!entry.second.is_dropped && catalog::has_any_right(catalog::caller(), entry.second) &&
            may_have(entry.second, {id}))
            queues.push_back(&entry.second);
    return queues;
}

[[noreturn]] void raise_locked(std::int64_t id, const catalog::Queue &queue)
{
    const std::string name = queue.full_name();
    const std::string holders = catalog::lock_holders(queue);
    HIPQ_RAISE(
        errcode(ERRCODE_LOCK_NOT_AVAILABLE),
        errmsg("cannot look for job %lld in queue \"%s\", because its tables are locked",
               static_cast<long long>(id), name.c_str()),
        holders.empty() ? 0 : errdetail_internal("%s.", holders.c_str()),
        errhint(
            "Try again when that transaction has ended; or name the queue that the job is in."));
}

}  // namespace

namespace {

constinit pg::Statement
    select_last_number("SELECT sequence.last_value FROM hipq.job_id_seq AS sequence");

// Whether the id is one that this server would assign, but greater than any it has assigned so far.
bool is_beyond_last(std::int64_t id)
{
    const auto parts = core::decompose_id(id);
    const auto catalogue = catalog::catalogue();
    const bool is_own =
        parts.has_value() && std::ranges::any_of(catalogue->queues, [&](const auto &entry) {
            const auto &shards = entry.second.shards;
            return parts->node == (shards == nullptr ? core::router_node : shards->own_node) &&
                   (shards != nullptr || core::is_plain_id(id));
        });
    return is_own && parts->sequence > pg::as_extension_owner([] {
                         return select_last_number.run_latest().front().integer(0);
                     });
}

}  // namespace

// An id beyond the last one is the only sign by which a server without other nodes can tell that it
// has lost recent changes. Only members of pg_monitor get the detail, because the number of jobs is
// not for everyone.
void raise_unknown_job(std::int64_t id)
{
    const auto number = static_cast<long long>(id);
    if (catalog::is_monitor() && is_beyond_last(id))
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("job %lld does not exist", number),
                   errdetail("This server has not given an id so great. If it did, it has "
                             "forgotten what it did last: it was restored, or its disk was put "
                             "back to an earlier state."),
                   errhint("Let no id be given twice then: SELECT setval('hipq.job_id_seq', N), "
                           "where N is the greatest that any client knows."));
    HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("job %lld does not exist", number),
               errhint("Final jobs are removed after the queue's retention."));
}

std::optional<FoundJob> find_job(const catalog::Catalogue &catalogue, std::int64_t id,
                                 const std::optional<std::string> &queue_name)
{
    const catalog::Queue *named =
        queue_name.has_value() ? &catalog::require_known_queue(catalogue, *queue_name) : nullptr;
    Queues queues = queues_to_look_into(catalogue, id, named);
    Queues with_live_leaf = queues;
    auto found = look_into(with_live_leaf, unfinished, id, first_wait);
    if (!found.has_value())
        found = look_into(queues, anywhere, id, first_wait);
    if (!found.has_value() && !queues.empty())
        found = look_into(queues, anywhere, id,
                          std::max(first_wait, longest_wait / static_cast<int>(queues.size())));
    if (!found.has_value() && !queues.empty())
        raise_locked(id, *queues.front());
    return found;
}

std::optional<FoundJob> find_permitted_job(const catalog::Catalogue &catalogue, std::int64_t id,
                                           const std::optional<std::string> &queue,
                                           catalog::Privilege privilege)
{
    auto job = find_job(catalogue, id, queue);
    if (!job.has_value())
        return std::nullopt;
    if (!catalog::may(catalog::caller(), *job->queue, privilege)) {
        if (!catalog::may(catalog::caller(), *job->queue, catalog::Privilege::read) &&
            !catalog::may(catalog::caller(), *job->queue, catalog::Privilege::operate) &&
            !catalog::may(catalog::caller(), *job->queue, catalog::Privilege::enqueue))
            return std::nullopt;
        catalog::require(*job->queue, privilege);
    }
    if (privilege == catalog::Privilege::operate || privilege == catalog::Privilege::control)
        catalog::demand_not_held(*job->queue);
    return job;
}

FoundJob require_job(const catalog::Catalogue &catalogue, std::int64_t id,
                     const std::optional<std::string> &queue, catalog::Privilege privilege)
{
    auto job = find_permitted_job(catalogue, id, queue, privilege);
    if (!job.has_value())
        raise_unknown_job(id);
    return *std::move(job);
}

}  // namespace hipq::job
