// The status of a job, for callers that wait for its end.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::job {

struct JobStatus {
    bool is_final;
    std::string outcome;  // as in view hipq.jobs
    pg::RawValue result;  // jsonb; NULL unless final
    std::string error;    // "NONE" = none
    bool is_own;          // the current transaction has enqueued or changed it
};

// The present status of a job of that queue. Nothing: it has no row (any more). Needs a transaction
// in read committed.
std::optional<JobStatus> job_status_of(const catalog::Queue &queue, std::int64_t id);

// Makes all commits so far durable, including those of transactions that did not wait for the disk.
XLogRecPtr make_commits_durable();

}  // namespace hipq::job
