// How far jobs in flight have come, as they say themselves: visible at once, whatever becomes of
// the transaction that says so.
//
// Each place of the table of jobs in flight (shared/lanes/in_flight.hpp) has one beside it, stamped
// with the entry and the attempt it is of: so there is always room, and what is left of a job that
// is gone is nobody's. It has a lock of its own, taken within that of the jobs in flight.
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

// The message is cut off at whole characters where it is too long.
Progress make_progress(std::int64_t done, std::optional<std::int64_t> total,
                       const std::string &message, pg::Time reported);

// Of the job whose handler this executor runs; of none that is not in flight, or runs in a client's
// session.
void note_own_progress(std::int64_t job_id, const Progress &progress);
// Of an attempt that an external worker has, or whoever completes it later. False: none of them has
// it.
bool note_progress(std::int64_t job_id, int attempt, const Progress &progress);

// What the jobs of this database in flight have said, in no order.
struct JobProgress {
    int queue_id;
    std::int64_t job_id;
    int attempt;
    int pid;                 // of the executor; 0: an external worker has it
    std::int64_t worker_id;  // 0: none
    Progress progress;
};
std::vector<JobProgress> list_progress();

extern const memory::Part progress_part;

}  // namespace hipq::workers
