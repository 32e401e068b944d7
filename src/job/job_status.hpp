// How a job stands, for those who wait for its end.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::job {

struct JobStatus {
    bool is_final;
    std::string outcome;  // as view hipq.jobs has it
    pg::RawValue result;  // jsonb; NULL unless final
    std::string error;    // "NONE" = none
    bool is_own;          // the transaction at hand has enqueued or changed it
};

// Of a job of that queue as it is now. Nothing: there is no row of it (any more). Needs a
// transaction in read committed.
std::optional<JobStatus> job_status_of(const catalog::Queue &queue, std::int64_t id);

// Whatever has been committed so far, by transactions that did not wait for the disk too, is safe
// from a crash.
XLogRecPtr make_commits_durable();

}  // namespace hipq::job
