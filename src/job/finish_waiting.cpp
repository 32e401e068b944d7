// Ends waiting jobs that are cancelled, expire, or cannot start, and tells when the next one
// expires.
//
// Jobs that end together take two statements; their final rows are written without SQL.
#include "job/finish.hpp"

#include "catalog/queue_statements.hpp"
#include "job/batches/note_failure.hpp"
#include "job/claimed_job.hpp"
#include "job/count_end.hpp"
#include "job/dead_letter_rows.hpp"
#include "job/final_rows.hpp"
#include "job/job_row.hpp"
#include "job/set_aside.hpp"
#include "job/two_phase.hpp"
#include "pg/compat.hpp"
#include "pg/error_classes.hpp"
#include "pg/internal_write.hpp"
#include "pg/subtransaction.hpp"
#include "shared/wakeup/commit.hpp"
#include "shared/workers/offers.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "storage/lmgr.h"
#include "utils/syscache.h"
}

namespace hipq::job {

namespace {

constexpr const char *remove_waiting_sql = R"(
    DELETE FROM {live} AS job
    USING (
        SELECT waiting.id FROM {live} AS waiting
        WHERE waiting.id = ANY ($1) AND waiting.state IN ('initial', 'retry')
        FOR UPDATE SKIP LOCKED
    ) AS chosen
    WHERE job.id = chosen.id
    RETURNING job::hipq.job)";

constexpr const char *expired_sql = R"(
    SELECT job.id FROM {live} AS job
    WHERE job.expires_time <= $1 AND job.expires_time < '9999-01-01 00:00:00+00' AND job.state IN ('initial', 'retry') AND NOT )" HIPQ_IS_SET_ASIDE
                                    R"(
    ORDER BY job.expires_time
    LIMIT $2)";

// $1 jobs, $2 attempts, $3 workers, $4 types, $5 keys, $6 reasons, $7 errors, $8 traceparents, $9
// now, $10 queue
constinit pg::Statement insert_unstarted(R"(
    INSERT INTO hipq.attempt (job_id, started_time, ended_time, queue_id, attempt, worker_id, job_type, job_key, reason, error, traceparent)
    SELECT job.id, $9, $9, $10, job.attempt, nullif(job.worker_id, 0), job.type, job.key, job.reason, job.error, nullif(job.traceparent, '')
    FROM unnest($1, $2, $3, $4, $5, $6, $7, $8) AS job (id, attempt, worker_id, type, key, reason, error, traceparent))");

constexpr const char *next_expiry_sql = R"(
    SELECT job.expires_time FROM {live} AS job
    WHERE job.expires_time < '9999-01-01 00:00:00+00' AND job.state IN ('initial', 'retry') AND NOT )" HIPQ_IS_SET_ASIDE
                                        R"(
    ORDER BY job.expires_time
    LIMIT 1)";

}  // namespace

namespace {

// The result of a job that did not start because of another one.
pg::RawValue result_of(const Failure &failure)
{
    if (!failure.cause.has_value())
        return {JSONBOID, json_null_datum()};
    const std::string json = "{\"cause\": " + std::to_string(*failure.cause) + "}";
    return {JSONBOID, pg::call([&] {
                return DirectFunctionCall1(::jsonb_in, CStringGetDatum(json.c_str()));
            })};
}

using JobEnds = std::map<std::int64_t, const Failure *>;  // by job

// A row that lacks a value that each job has can be written by SQL only, if at all.
bool is_whole(const ClaimedJob &job)
{
    for (std::size_t i = 0; i < core::column_count; ++i)
        if (core::is_required(static_cast<core::Column>(i)) && job.values->nulls[i])
            return false;
    return true;
}

// False: SQL must write them.
bool insert_final_directly(const catalog::Queue &queue, std::span<const ClaimedJob> jobs,
                           const JobEnds &ends, pg::Time now)
{
    auto rows =
        std::ranges::all_of(jobs, is_whole) ? FinalRows::open(queue, jobs, now) : std::nullopt;
    if (!rows.has_value())
        return false;
    std::vector<FinalRows::Unstarted> unstarted;
    for (const ClaimedJob &job : jobs) {
        const Failure &failure = *ends.at(job.id);
        unstarted.push_back({failure.error, core::name(failure.reason), result_of(failure)});
    }
    pg::call([] { ::PushActiveSnapshot(::GetLatestSnapshot()); });
    rows->insert_unstarted(jobs, unstarted);
    pg::call([] { ::PopActiveSnapshot(); });
    rows->close();
    return true;
}

void insert_final_rows(const catalog::Queue &queue, std::span<const ClaimedJob> jobs,
                       const JobEnds &ends, pg::Time now)
{
    if (insert_final_directly(queue, jobs, ends, now))
        return;
    for (const ClaimedJob &job : jobs) {
        const Failure &failure = *ends.at(job.id);
        insert_final(queue, job, failure.error, std::string(core::name(failure.reason)),
                     result_of(failure), now);
    }
}

void insert_history(const catalog::Queue &queue, std::span<const ClaimedJob> jobs,
                    const JobEnds &ends, pg::Time now)
{
    std::vector<std::int64_t> ids;
    std::vector<std::int64_t> attempts;
    std::vector<std::int64_t> workers;
    std::vector<std::string> types;
    std::vector<std::string> keys;
    std::vector<std::string> reasons;
    std::vector<std::string> errors;
    std::vector<std::string> traces;
    for (const ClaimedJob &job : jobs) {
        const Failure &failure = *ends.at(job.id);
        ids.push_back(job.id);
        attempts.push_back(job.attempt);
        workers.push_back(job.worker_id.value_or(0));
        types.push_back(job.type);
        keys.push_back(job.key);
        reasons.emplace_back(core::name(failure.reason));
        errors.push_back(failure.error);
        traces.push_back(traceparent_of(job).value_or(""));
    }
    insert_unstarted.run(ids, attempts, workers, types, keys, reasons, errors, traces, now,
                         queue.id);
}

// A job that no process ran, and that ended without an error of the server.
bool is_brief(const UnstartedEnd &end)
{
    const Failure &failure = end.failure;
    return core::is_unwanted(failure.reason) && !failure.executor_pid.has_value() &&
           failure.sqlstate.empty() && failure.detail.empty() && failure.hint.empty() &&
           failure.context.empty();
}

}  // namespace

std::set<std::int64_t> finish_waiting(const catalog::Queue &queue,
                                      std::span<const UnstartedEnd> ends, pg::Time now)
{
    JobEnds by_job;
    std::vector<std::int64_t> ids;
    for (const UnstartedEnd &end : ends)
        if (by_job.emplace(end.job_id, &end.failure).second)
            ids.push_back(end.job_id);
    if (ids.empty())
        return {};
    return pg::as_hipq([&] {
        std::vector<ClaimedJob> jobs;
        std::set<std::int64_t> ended;
        for (const pg::Row row : catalog::statement_for(queue, remove_waiting_sql).run(ids)) {
            ClaimedJob &job = jobs.emplace_back(claimed_job(row));
            job.started = now;
            ended.insert(job.id);
            note_failure(job, by_job.at(job.id)->reason);
            workers::note_offer_void(job.id);
        }
        if (jobs.empty())
            return ended;
        forbid_two_phase(NoTwoPhase::job_taken);  // rows written by SQL do so in the guard trigger
        insert_final_rows(queue, jobs, by_job, now);
        if (std::ranges::all_of(ends, is_brief))
            insert_history(queue, jobs, by_job, now);
        else
            for (const ClaimedJob &job : jobs)
                record_attempt(queue, job, *by_job.at(job.id), now);
        for (const ClaimedJob &job : jobs) {
            const Failure &failure = *by_job.at(job.id);
            const bool dies = leaves_dead_letter(queue, failure.reason);
            count_unstarted(queue, job, failure.reason, dies, now);
            if (dies)
                add_dead_letter(queue, job, failure, now);
        }
        return ended;
    });
}

bool finish_waiting(const catalog::Queue &queue, std::int64_t id, const Failure &failure,
                    pg::Time now)
{
    const UnstartedEnd end{id, failure};
    return !finish_waiting(queue, {&end, 1}, now).empty();
}

namespace {

// Returns the error that prevented it, in which case nothing was changed. Rethrows an error that is
// not the fault of these jobs.
std::optional<pg::Error> try_to_expire(const catalog::Queue &queue,
                                       const std::vector<std::int64_t> &ids, pg::Time now,
                                       int &count)
{
    const Failure expired{core::Reason::expired, "", "job expired before it started"};
    std::vector<UnstartedEnd> ends;
    ends.reserve(ids.size());
    for (const std::int64_t id : ids)
        ends.push_back({id, expired});
    int ended = 0;
    auto trouble = pg::in_subtransaction(pg::Ending::kept, [&] {
        ended = static_cast<int>(finish_waiting(queue, ends, now).size());
    });
    if (trouble.has_value() && !pg::is_fault_of_job(*trouble))
        throw *trouble;  // NOLINT(cert-err60-cpp): as it came
    count += trouble.has_value() ? 0 : ended;
    return trouble;
}

}  // namespace

int expire_waiting(const catalog::Queue &queue, pg::Time now, int limit)
{
    std::vector<std::int64_t> ids;
    for (const pg::Row row : pg::as_hipq([&] {
             return catalog::statement_for(queue, expired_sql)
                 .run(now, static_cast<std::int64_t>(limit));
         }))
        ids.push_back(row.integer(0));
    int count = 0;
    if (ids.empty() || !try_to_expire(queue, ids, now, count).has_value())
        return count;
    for (const std::int64_t id : ids)  // one of them raises an error: try each separately
        if (const auto trouble = try_to_expire(queue, {id}, now, count)) {
            note_set_aside(queue, id, *trouble, now);
            report_set_aside(queue, id, *trouble);
        }
    return count;
}

// ---- the next expiry ----
//
// In most queues no job ever expires. Then the index over expires_time has no page but its first
// one, and there is no need to plan a statement, which takes a millisecond for each queue.

namespace {

// ---- call inside pg::call() only ----

// An invalid index may lack entries.
bool is_valid(Oid index)
{
    HeapTuple tuple = ::SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
    const bool valid =
        HeapTupleIsValid(tuple) && reinterpret_cast<Form_pg_index>(GETSTRUCT(tuple))->indisvalid;
    if (HeapTupleIsValid(tuple))
        ::ReleaseSysCache(tuple);
    return valid;
}

// The first page of a B-tree has no entries. Loads no relation-cache entry.
bool has_first_page_only(Oid index)
{
    HeapTuple tuple = ::SearchSysCache1(RELOID, ObjectIdGetDatum(index));
    if (!HeapTupleIsValid(tuple))
        return false;
    const auto *form = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
    const bool is_empty = form->relam == BTREE_AM_OID && pg::count_blocks(*form) == 1;
    ::ReleaseSysCache(tuple);
    return is_empty;
}

// The lock keeps a REINDEX from replacing the file meanwhile.
bool is_empty(const char *index_name)
{
    const Oid index = ::get_relname_relid(index_name, ::get_namespace_oid("hipq", false));
    if (!OidIsValid(index) || !::ConditionalLockRelationOid(index, AccessShareLock))
        return false;
    const bool result = is_valid(index) && has_first_page_only(index);
    ::UnlockRelationOid(index, AccessShareLock);
    return result;
}

}  // namespace

pg::Time next_expiry(const catalog::Queue &queue)
{
    const std::string index = queue.live_table() + "_expiry";
    if (pg::call([&] { return is_empty(index.c_str()); }))
        return pg::infinity;
    const pg::Rows rows =
        pg::as_hipq([&] { return catalog::statement_for(queue, next_expiry_sql).run(); });
    return rows.empty() ? pg::infinity : rows.front().time(0);
}

}  // namespace hipq::job
