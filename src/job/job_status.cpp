// Determines the status of a job from its row.
#include "job/job_status.hpp"

#include "catalog/queue_statements.hpp"
#include "core/job/state.hpp"
#include "core/job/validate.hpp"
#include "job/current_job.hpp"
#include "pg/compat.hpp"
#include "pg/transaction.hpp"

extern "C" {
#include "access/xlog.h"
#include "replication/message.h"
}

namespace hipq::job {

namespace {

constexpr const char *find_job_sql = R"(
    SELECT job.state::text, job.error, job.retry_reason, nullif(job.result, 'null'), job.xmin::text
    FROM {table} AS job
    WHERE job.id = $1)";

bool is_own(const std::string &transaction)
{
    const auto id = static_cast<TransactionId>(std::stoul(transaction));
    return pg::call([&] { return ::TransactionIdIsCurrentTransactionId(id); });
}

std::string outcome_of_end(const std::string &error, const std::string &reason)
{
    if (error == core::none_text)
        return "succeeded";
    return reason == "cancelled" || reason == "expired" || reason == "skipped" ? reason : "failed";
}

}  // namespace

std::optional<JobStatus> job_status_of(const catalog::Queue &queue, std::int64_t id)
{
    const pg::Rows rows =
        pg::as_extension_owner([&] { return catalog::statement_for(queue, find_job_sql).run(id); });
    if (rows.empty())
        return std::nullopt;
    const pg::Row row = rows.front();
    const std::string error = row.text(1);
    const core::JobState state = core::parse_job_state(row.text(0)).value();
    if (state == core::JobState::final)
        return JobStatus{true, outcome_of_end(error, row.text(2)), row.raw(3), error,
                         is_own(row.text(4))};
    const bool runs =
        state == core::JobState::running || (core::is_waiting(state) && is_running(id));
    return JobStatus{false,
                     runs ? "running" : "waiting",
                     {JSONBOID, Datum{0}, true},
                     error,
                     is_own(row.text(4))};
}

// There is no way to ask how far commits have come, but a record that is written now comes after
// them.
XLogRecPtr make_commits_durable()
{
    return pg::call([] {
        const XLogRecPtr end = pg::log_message("hipq", "", 0);
        ::XLogFlush(end);
        return end;
    });
}

}  // namespace hipq::job
