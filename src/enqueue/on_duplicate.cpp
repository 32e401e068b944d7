// Changes the unfinished job that holds the key of a new one, as on_duplicate says.
//
// It looks up the holder, changes its row unless another transaction has it locked, and repeats
// that as long as necessary.
//
// A running job that was claimed by lock still has the row of a waiting job, locked by its
// executor; only the registry tells that it runs. So the code never simply waits for a row lock,
// which may be held for as long as a handler runs.
#include "enqueue/on_duplicate.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "catalog/rights.hpp"
#include "core/job/validate.hpp"
#include "enqueue/direct.hpp"
#include "job/current_job.hpp"
#include "job/dependency_rows.hpp"
#include "job/live_rows.hpp"
#include "pg/demand.hpp"
#include "pg/internal_write.hpp"
#include "pg/transaction.hpp"
#include "shared/wakeup/watched_jobs.hpp"

namespace hipq::enqueue {

namespace {

struct Holder {
    std::int64_t id;
    bool runs;  // or is in `error`: between two attempts, and not waiting
    pg::Time due;
};

// The seemingly redundant condition makes the index over keys usable in any plan.
#define HIPQ_HAS_KEY                                                                               \
    "job.job_type = $1 AND job.job_key = $2 AND job.job_key <> 'NONE'"                             \
    "{+ AND job.shard_key COLLATE \"C\" = $3+}"

constexpr const char *holder_state_sql = R"(
    SELECT job.id, job.state::text, job.scheduled_run_time
    FROM {live} AS job
    WHERE {holder job} AND )" HIPQ_HAS_KEY;

constexpr const char *follower_sql =
    "SELECT job.id FROM {live} AS job WHERE job.waits_for = 'key' AND " HIPQ_HAS_KEY;

#define HIPQ_CHOSEN_WAITING                                                                        \
    "FROM (SELECT waiting.id FROM {live} AS waiting WHERE waiting.id = $1 AND waiting.state IN "   \
    "('initial', 'retry') "                                                                        \
    "FOR UPDATE SKIP LOCKED) AS chosen WHERE job.id = chosen.id"

// $11: keep time and priority unless they are given
constexpr const char *replace_sql = R"(
    UPDATE {live} AS job
    SET job_data = coalesce($2, '{}'), priority = coalesce($4, job.priority),
        scheduled_run_time = coalesce($3, CASE WHEN $11 THEN job.scheduled_run_time ELSE now() END),
        timeout = coalesce($5, job.timeout), throttle_factor = coalesce($6, job.throttle_factor),
        time_windows = coalesce($7, job.time_windows), max_retries = coalesce($8, job.max_retries),
        expires_time = coalesce($9, job.expires_time), throttle_key = coalesce($10, job.throttle_key)
    )" HIPQ_CHOSEN_WAITING;

// A user's UPDATE cannot change this column.
constexpr const char *queue_ttl_sql = "UPDATE {live} AS job SET queue_ttl = $2 WHERE job.id = $1";

constexpr const char *merge_sql = "UPDATE {live} AS job SET job_data = CASE WHEN $2 IS NULL THEN "
                                  "job.job_data ELSE job.job_data || $2 END " HIPQ_CHOSEN_WAITING;

constexpr const char *debounce_sql = "UPDATE {live} AS job SET scheduled_run_time = "
                                     "greatest(job.scheduled_run_time, $2) " HIPQ_CHOSEN_WAITING;

std::optional<Holder> find_holder(const Newcomer &newcomer)
{
    const pg::Rows rows = pg::as_extension_owner([&] {
        return catalog::statement_for(newcomer.queue, holder_state_sql)
            .run(newcomer.options.type, newcomer.key, newcomer.scope);
    });
    const auto catalogue = catalog::catalogue();
    if (const catalog::Queue *present = catalogue->find(newcomer.queue.id))
        demand_same_scope(newcomer.queue, *present);
    if (rows.empty())
        return std::nullopt;
    const pg::Row row = rows.front();
    const core::JobState state = core::parse_job_state(row.text(1)).value();
    const std::int64_t id = row.integer(0);
    return Holder{id, !core::is_waiting(state) || job::is_running(id), row.time(2)};
}

// When a new job with these options would be due.
pg::Time due_of(const JobOptions &options)
{
    return options.scheduled_run_time.value_or(pg::Time{::GetCurrentTransactionStartTimestamp()});
}

std::int16_t priority_of(const Newcomer &newcomer)
{
    if (newcomer.options.priority.has_value())
        return *newcomer.options.priority;
    const catalog::JobType *type = newcomer.queue.find_job_type(newcomer.options.type);
    return static_cast<std::int16_t>(type == nullptr ? 0 : type->default_priority);
}

pg::Rows replace(const Newcomer &newcomer, std::int64_t id, OnDuplicate on_duplicate)
{
    const JobOptions &options = newcomer.options;
    const bool keeps = on_duplicate == OnDuplicate::after;
    return catalog::statement_for(newcomer.queue, replace_sql)
        .run(id, newcomer.data, options.scheduled_run_time,
             keeps ? options.priority : std::optional(priority_of(newcomer)), options.timeout,
             options.throttle_factor, options.time_windows, options.max_retries,
             options.expires_time, options.throttle_key, keeps);
}

// Whether the job takes over all values of the newcomer.
bool gives_all_values(OnDuplicate on_duplicate)
{
    return on_duplicate == OnDuplicate::replace || on_duplicate == OnDuplicate::after;
}

void replace_queue_ttl(const Newcomer &newcomer, std::int64_t id)
{
    pg::demand(core::check_queue_ttl(*newcomer.options.queue_ttl));
    pg::as_hipq([&] {
        catalog::statement_for(newcomer.queue, queue_ttl_sql).run(id, *newcomer.options.queue_ttl);
    });
}

// Runs as a user's UPDATE, so that the guard trigger applies the rules for new values.
pg::Rows update(const Newcomer &newcomer, std::int64_t id, OnDuplicate on_duplicate)
{
    if (gives_all_values(on_duplicate))
        return replace(newcomer, id, on_duplicate);
    if (on_duplicate == OnDuplicate::merge)
        return catalog::statement_for(newcomer.queue, merge_sql).run(id, newcomer.data);
    return catalog::statement_for(newcomer.queue, debounce_sql).run(id, due_of(newcomer.options));
}

EnqueueAction action_of(OnDuplicate on_duplicate)
{
    if (gives_all_values(on_duplicate))
        return EnqueueAction::replaced;
    return on_duplicate == OnDuplicate::merge ? EnqueueAction::merged : EnqueueAction::debounced;
}

[[noreturn]] void refuse_running(const Newcomer &newcomer, const Holder &holder)
{
    const std::string name = newcomer.queue.full_name();
    const bool may_know =
        catalog::may(catalog::caller(), newcomer.queue, catalog::Privilege::read) ||
        catalog::may(catalog::caller(), newcomer.queue, catalog::Privilege::operate);
    HIPQ_RAISE(errcode(ERRCODE_OBJECT_IN_USE),
               errmsg("the job of type \"%s\" with key \"%s\" in queue \"%s\" is running",
                      newcomer.options.type.c_str(), newcomer.key.c_str(), name.c_str()),
               may_know ? errdetail("Job %lld holds the key. Only a waiting job can be changed.",
                                    static_cast<long long>(holder.id))
                        : errdetail("Only a waiting job can be changed."),
               errhint("Use on_duplicate => 'after' for one more job when that one has finished."));
}

// Waits while the job is changing hands or another transaction is changing it.
void wait_for_change(const catalog::Queue &queue, std::int64_t id)
{
    if (auto rows = job::LiveRows::open_to_lock(queue)) {
        rows->wait_for_holder(id);
        rows->close();
        return;
    }
    pg::call([] { ::pg_usleep(1'000); });  // a user has dropped the table's primary key
}

// Changes a waiting job, or a follower. Nothing: another transaction has its row.
std::optional<Enqueued> change(const Newcomer &newcomer, std::int64_t id, OnDuplicate on_duplicate)
{
    const bool changed =
        pg::as_extension_owner([&] { return update(newcomer, id, on_duplicate).processed() == 1; });
    if (!changed) {
        wait_for_change(newcomer.queue, id);
        return std::nullopt;
    }
    if (gives_all_values(on_duplicate) && newcomer.options.queue_ttl.has_value())
        replace_queue_ttl(newcomer, id);
    return Enqueued{id, action_of(on_duplicate)};
}

bool follows(OnDuplicate on_duplicate)
{
    return on_duplicate == OnDuplicate::after || on_duplicate == OnDuplicate::after_first;
}

std::optional<std::int64_t> find_follower(const Newcomer &newcomer)
{
    if (!newcomer.queue.has_waits)
        return std::nullopt;
    const pg::Rows rows = pg::as_extension_owner([&] {
        return catalog::statement_for(newcomer.queue, follower_sql)
            .run(newcomer.options.type, newcomer.key, newcomer.scope);
    });
    return rows.empty() ? std::nullopt : std::optional(rows.front().integer(0));
}

// Makes the newcomer the follower of a running job, which has none. Nothing: the job has ended in
// the meantime, or another process was faster.
std::optional<Enqueued> follow(const Newcomer &newcomer, const Holder &holder)
{
    JobOptions held = newcomer.options;
    held.waits_for = core::WaitsFor::key;
    const auto id = insert_one(newcomer.queue, held, newcomer.data, newcomer.key);
    if (!id.has_value())
        return std::nullopt;
    job::follow(newcomer.queue, *id, holder.id);
    wakeup::watch_older_job(holder.id);
    return Enqueued{*id, EnqueueAction::after};
}

// Does what can be done with the present holder; nothing: the caller must look again. The follower
// of a holder that waits for its retry runs last, so the newest data are for the follower.
std::optional<Enqueued> meet(const Newcomer &newcomer, const Holder &holder,
                             OnDuplicate on_duplicate)
{
    if (follows(on_duplicate)) {
        if (const auto id = find_follower(newcomer))
            return on_duplicate == OnDuplicate::after ? change(newcomer, *id, on_duplicate)
                                                      : Enqueued{*id, EnqueueAction::returned};
        if (holder.runs)
            return follow(newcomer, holder);
    }
    if (holder.runs)
        refuse_running(newcomer, holder);
    const bool stays =
        on_duplicate == OnDuplicate::after_first ||
        (on_duplicate == OnDuplicate::debounce && due_of(newcomer.options) <= holder.due);
    return stays ? Enqueued{holder.id, EnqueueAction::returned}
                 : change(newcomer, holder.id, on_duplicate);
}

}  // namespace

std::optional<OnDuplicate> parse_on_duplicate(std::string_view text)
{
    constexpr std::array<std::string_view, 7> names{"error",    "return", "replace",    "merge",
                                                    "debounce", "after",  "after_first"};
    const auto found = std::find(names.begin(), names.end(), text);
    return found == names.end() ? std::nullopt
                                : std::optional(static_cast<OnDuplicate>(found - names.begin()));
}

std::string_view name(EnqueueAction action)
{
    constexpr std::array<std::string_view, 7> names{"inserted",  "returned", "replaced", "merged",
                                                    "debounced", "after",    "sent"};
    return names[static_cast<std::size_t>(action)];
}

// A follower whose turn has come, but which the scheduler has not released yet, stands for the
// holder: a newer job must not overtake it.
std::optional<Enqueued> apply_on_duplicate(const Newcomer &newcomer, OnDuplicate on_duplicate)
{
    for (;;) {
        pg::call([] { CHECK_FOR_INTERRUPTS(); });
        auto holder = find_holder(newcomer);
        if (!holder.has_value())
            if (const auto follower = find_follower(newcomer))
                holder = Holder{*follower, false, pg::Time{0}};
        if (!holder.has_value())
            return std::nullopt;
        if (job::is_current_job(holder->id) && !follows(on_duplicate))
            return std::nullopt;
        if (const auto met = meet(newcomer, *holder, on_duplicate))
            return met;
    }
}

}  // namespace hipq::enqueue
