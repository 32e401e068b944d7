// The progress that jobs in flight report: visible at once, whatever becomes of the reporting
// transaction.
//
// Each entry of the table of jobs in flight (shared/lanes/in_flight.hpp) has a place for progress,
// stamped with the entry and the attempt. So there is always room, and leftovers of a finished job
// belong to no other. Progress has its own lock, which is taken within that of the jobs in flight.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::workers {

inline constexpr std::size_t longest_progress_message = 200;  // bytes
inline constexpr std::int64_t unknown_total = -1;

struct Progress {
    std::int64_t done;
    std::int64_t total;
    pg::Time reported;
    char message[longest_progress_message + 1];  // empty: none
};
static_assert(std::is_trivially_copyable_v<Progress>);

// A message that is too long is truncated at a character boundary.
Progress make_progress(std::int64_t done, std::optional<std::int64_t> total,
                       const std::string &message, pg::Time reported);

// Records progress of the job whose handler this executor runs. Does nothing if the job is not in
// flight, or runs in a client's session.
void note_own_progress(std::int64_t job_id, const Progress &progress);
// Records progress of an attempt that an external worker has, or that will be completed later.
// Returns false if there is no such attempt.
bool note_progress(std::int64_t job_id, int attempt, const Progress &progress);

// The progress of this database's jobs in flight, in no order.
struct JobProgress {
    int queue_id;
    std::int64_t job_id;
    int attempt;
    int pid;                 // of the executor; 0: an external worker has the job
    std::int64_t worker_id;  // 0: none
    Progress progress;
};
std::vector<JobProgress> list_progress();

extern const memory::Part progress_part;

}  // namespace hipq::workers
