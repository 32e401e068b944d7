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
#include "job/live_rows.hpp"
#include "job/successor_rows.hpp"
#include "pg/demand.hpp"
#include "pg/internal_write.hpp"
#include "pg/transaction.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::enqueue {

namespace {

struct Holder {
    std::int64_t id;
    bool runs;  // or is in `error`: between two attempts, and not waiting
    pg::Time due;
};

// The seemingly redundant condition makes the index over keys usable in any plan.
constexpr const char *holder_state_sql = R"(
    SELECT job.id, job.state::text, job.scheduled_run_time
    FROM {live} AS job
    WHERE job.job_type = $1 AND job.job_key = $2 AND job.job_key <> 'NONE'{+ AND job.shard_key COLLATE "C" = $3+})";

#define HIPQ_CHOSEN_WAITING                                                                        \
    "FROM (SELECT waiting.id FROM {live} AS waiting WHERE waiting.id = $1 AND waiting.state IN "   \
    "('initial', 'retry') "                                                                        \
    "FOR UPDATE SKIP LOCKED) AS chosen WHERE job.id = chosen.id"

constexpr const char *replace_sql = R"(
    UPDATE {live} AS job
    SET job_data = coalesce($2, '{}'), scheduled_run_time = coalesce($3, now()), priority = $4,
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

pg::Rows replace(const Newcomer &newcomer, std::int64_t id)
{
    const JobOptions &options = newcomer.options;
    return catalog::statement_for(newcomer.queue, replace_sql)
        .run(id, newcomer.data, options.scheduled_run_time, priority_of(newcomer), options.timeout,
             options.throttle_factor, options.time_windows, options.max_retries,
             options.expires_time, options.throttle_key);
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
    if (on_duplicate == OnDuplicate::replace)
        return replace(newcomer, id);
    if (on_duplicate == OnDuplicate::merge)
        return catalog::statement_for(newcomer.queue, merge_sql).run(id, newcomer.data);
    return catalog::statement_for(newcomer.queue, debounce_sql).run(id, due_of(newcomer.options));
}

EnqueueAction action_of(OnDuplicate on_duplicate)
{
    switch (on_duplicate) {
    case OnDuplicate::replace:
        return EnqueueAction::replaced;
    case OnDuplicate::merge:
        return EnqueueAction::merged;
    case OnDuplicate::debounce:
        return EnqueueAction::debounced;
    case OnDuplicate::error:
    case OnDuplicate::return_holder:
    case OnDuplicate::after:
        break;
    }
    return EnqueueAction::returned;
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

// A running job has one successor. Nothing: the job has ended in the meantime, or another process
// was faster.
std::optional<Enqueued> follow(const Newcomer &newcomer, const Holder &holder)
{
    if (const auto id = job::successor_of_key(newcomer.queue, newcomer.unique_key()))
        return Enqueued{*id, EnqueueAction::returned};
    const auto id = add_successor(newcomer);
    if (!id.has_value())
        return std::nullopt;
    // While this transaction waited for the row of an earlier successor, that successor may have
    // become the job with the key. Then this one is not needed: the caller looks again.
    const auto present = find_holder(newcomer);
    if (present.has_value() && present->id == holder.id && present->runs) {
        wakeup::note_look();
        return Enqueued{*id, EnqueueAction::after};
    }
    job::remove_successor(*id);
    return std::nullopt;
}

// Does what can be done with the present holder; nothing: the caller must look again.
std::optional<Enqueued> meet(const Newcomer &newcomer, const Holder &holder,
                             OnDuplicate on_duplicate)
{
    if (on_duplicate == OnDuplicate::after)
        return holder.runs ? follow(newcomer, holder)
                           : Enqueued{holder.id, EnqueueAction::returned};
    if (holder.runs)
        refuse_running(newcomer, holder);
    if (on_duplicate == OnDuplicate::debounce && due_of(newcomer.options) <= holder.due)
        return Enqueued{holder.id, EnqueueAction::returned};
    const bool changed = pg::as_extension_owner(
        [&] { return update(newcomer, holder.id, on_duplicate).processed() == 1; });
    if (changed && on_duplicate == OnDuplicate::replace && newcomer.options.queue_ttl.has_value())
        replace_queue_ttl(newcomer, holder.id);
    if (changed)
        return Enqueued{holder.id, action_of(on_duplicate)};
    wait_for_change(newcomer.queue, holder.id);
    return std::nullopt;
}

}  // namespace

std::optional<Enqueued> apply_on_duplicate(const Newcomer &newcomer, OnDuplicate on_duplicate)
{
    for (;;) {
        pg::call([] { CHECK_FOR_INTERRUPTS(); });
        const auto holder = find_holder(newcomer);
        if (!holder.has_value()) {
            if (!make_successor_a_job(newcomer.queue, newcomer.unique_key()))
                return std::nullopt;
        } else if (job::is_current_job(holder->id) && on_duplicate != OnDuplicate::after) {
            return std::nullopt;
        } else if (const auto met = meet(newcomer, *holder, on_duplicate)) {
            return met;
        }
    }
}

}  // namespace hipq::enqueue
