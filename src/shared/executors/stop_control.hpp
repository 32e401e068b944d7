// Stops jobs held by executors: deadlines, requests to cancel, and processes that do not respond.
//
// A process signals a job under the lock of the jobs in flight, while the slot of the job's
// executor says that the job's code is running. The executor leaves that state under the same lock.
// So the signal reaches no other process, and a signal that arrives late is not taken to be for the
// next job. A request stands until the executor is done with its jobs; a request for a job of a
// batch takes effect when the job's turn comes.
#pragma once

#include "shared/executors/executor_table.hpp"
#include "shared/lanes/in_flight_table.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::executors {

// Executor
// ----------------------------------------------------------------------------------------------

// Code starts: that of one job, or (0) of the running batch. Returns whether a cancellation has
// been requested already.
[[nodiscard]] bool begin_stop_control(std::int64_t job_id, pg::Time deadline,
                                      bool asks_retry_handler);

// The result of a stop control.
struct EndedStopControl {
    bool signalled;  // a signal may be on its way
    std::optional<std::string>
        request;            // the error with which the code must end, if it is to be cancelled
    std::int64_t extended;  // by how many seconds the deadline was extended
};
// The code has ended: from here on requests for its jobs come too late.
EndedStopControl end_stop_control();

// Jobs of a batch will now run one by one: requests for them are accepted again.
void reopen_jobs();

// The outcome of a job of this executor is durable: forgets the request for it.
void resolved(std::int64_t job_id);

// A job that must be cancelled, but had no running code that could be stopped.
struct RequestedJob {
    std::int64_t id;
    std::string error;
};
// From here on requests for any of this executor's jobs come too late. Returns the requests that
// came in time and have not been carried out.
std::vector<RequestedJob> close_jobs();

// Whether the deadline of the running code has come; it may have been extended. For a signal
// handler: takes no lock, cannot fail.
bool deadline_has_come() noexcept;

// The deadline was missed: wakes the processes that terminate executors. For a signal handler:
// takes no lock, cannot fail.
void wake_watchers() noexcept;

// Operator
// ----------------------------------------------------------------------------------------------

enum class CancelAnswer : unsigned char {
    placed,         // unless the server crashes, the job ends as cancelled
    not_in_flight,  // no executor has started with it
    changing,       // its code or its executor has ended; the job's row will show the outcome in a
                    // moment
};

// The error with which a job is cancelled, truncated to fit.
using CancellationError = std::array<char, lanes::max_cancellation_error>;

// What request_cancellation() would answer.
CancelAnswer look_at_cancellation(Oid database, std::int64_t job_id);

// Requests the cancellation of a job that an executor has in flight. Allocates nothing.
CancelAnswer request_cancellation(Oid database, std::int64_t job_id,
                                  const CancellationError &error) noexcept;

enum class ExtendAnswer : unsigned char {
    extended,
    not_running,  // no executor runs its handler
    changing,     // its handler is about to start, or has ended
    stopping,     // its deadline has come, or it is being cancelled
    too_long,     // it would run longer than allowed
};
struct Extended {
    ExtendAnswer answer;
    pg::Time deadline;  // the new deadline
};

// Extends the deadline of a running job, and of the batch in which it runs, so that at least
// `seconds` are left. Extends it by whole seconds, because the executor's timer is not set again,
// but fires each second from the first deadline on. `most`: the maximum run time in seconds.
Extended extend_deadline(Oid database, std::int64_t job_id, std::int64_t seconds,
                         std::int64_t most);

// The same for the code that runs in this session.
Extended extend_own_deadline(std::int64_t seconds, std::int64_t most);

// Scheduler and launcher
// ----------------------------------------------------------------------------------------------

struct UnresponsiveExecutor {
    int pid;
    memory::RunningJob job;
    bool cancel_requested;
};

struct Stopped {
    std::vector<UnresponsiveExecutor> unresponsive;  // found by this call; each is reported once
    pg::Time next = pg::infinity;                    // when to look again, by the real clock
};

// Takes the next step with each job that must stop: those of one database, or (InvalidOid) those of
// all databases; where a scheduler runs, the latter waits longer so that the scheduler can act
// first. `grace` in microseconds.
Stopped stop_overdue_jobs(Oid database, std::int64_t grace);

// Functions on the table itself, which need the lock
// ----------------------------------------------------------------------------------------------

// A request to cancel a job.
struct Cancellation {
    bool is_there;
    CancellationError error;  // the error with which the job ends
};
Cancellation cancellation_of(Oid database, std::int64_t job_id) noexcept;
void forget_cancellation(Oid database, std::int64_t job_id) noexcept;

}  // namespace hipq::executors
