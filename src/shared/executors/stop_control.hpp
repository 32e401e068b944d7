// Stopping jobs held by executors: their deadlines, requests to cancel them, and processes
// that do not listen.
//
// A signal for a job is sent under the lock of the jobs in flight, while the slot of its executor
// says that the job's code runs; the executor leaves that stage under the same lock. So the signal
// reaches no other process, and what the executor then still finds of it is not the next job's. A
// request stands until the executor is done with its jobs: one for a job of a batch holds when the
// job's turn comes.
#pragma once

#include "shared/executors/executor_table.hpp"
#include "shared/lanes/in_flight_table.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::executors {

// Executor
// ----------------------------------------------------------------------------------------------

// Code starts: of one job, or (0) of the batch that runs. Returns whether somebody has asked for a
// cancellation already.
bool begin_stop_control(std::int64_t job_id, pg::Time deadline, bool asks_retry_handler);

// What the watch came to.
struct EndedStopControl {
    bool signalled;  // a signal may be on its way
    std::optional<std::string>
        request;            // what was watched is to be cancelled, and ends with this error
    std::int64_t extended;  // seconds by which its deadline was put off
};
// The code has ended: from here on requests for its jobs come too late.
EndedStopControl end_stop_control();

// Jobs of a batch that will be run one by one: requests for them are welcome again.
void reopen_jobs();

// What became of a job of this executor is durable: a request for it has had its time.
void resolved(std::int64_t job_id);

// A job that is to be cancelled, and no code of it was there to be stopped.
struct RequestedJob {
    std::int64_t id;
    std::string error;
};
// From here on requests for any of this executor's jobs come too late. Returns those that came in
// time and were not heeded.
std::vector<RequestedJob> close_jobs();

// Whether the deadline of what is watched has come: it may have been put off. For a signal handler:
// takes no lock, cannot fail.
bool deadline_has_come() noexcept;

// The deadline was missed: wakes whoever terminates processes. For a signal handler: takes no lock,
// cannot fail.
void wake_watchers() noexcept;

// Operator
// ----------------------------------------------------------------------------------------------

enum class CancelAnswer : unsigned char {
    placed,         // unless the server crashes the job ends as cancelled
    not_in_flight,  // no executor has begun with it
    changing,  // its code has ended, or its executor: what has become of it will be seen in its row
               // in a moment
};

// What a job is cancelled with, as far as there is room for it.
using CancellationError = std::array<char, lanes::max_cancellation_error>;

// How request_cancellation() would answer.
CancelAnswer look_at_cancellation(Oid database, std::int64_t job_id);

// Asks for the cancellation of a job that an executor has in flight. Allocates nothing.
CancelAnswer request_cancellation(Oid database, std::int64_t job_id,
                                  const CancellationError &error) noexcept;

enum class ExtendAnswer : unsigned char {
    extended,
    not_running,  // no executor runs its handler
    changing,     // its handler is about to start, or has ended
    stopping,     // its deadline has come, or it is being cancelled
    too_long,     // it would run longer than it may
};
struct Extended {
    ExtendAnswer answer;
    pg::Time deadline;  // the new one
};

// Puts off the deadline of a running job, and of the batch that it runs in, so that at least
// `seconds` are left. By whole seconds: the executor's timer, which is not set anew, rings each
// second from the first deadline on. `most`: seconds that it may run in all.
Extended extend_deadline(Oid database, std::int64_t job_id, std::int64_t seconds,
                         std::int64_t most);

// The same for what runs in this session.
Extended extend_own_deadline(std::int64_t seconds, std::int64_t most);

// Scheduler and launcher
// ----------------------------------------------------------------------------------------------

struct UnresponsiveExecutor {
    int pid;
    memory::RunningJob job;
    bool cancel_requested;
};

struct Stopped {
    std::vector<UnresponsiveExecutor> unresponsive;  // found now, each once
    pg::Time next = pg::infinity;                    // when to look again, by the real clock
};

// Takes the next step with each job that has to stop: those of one database, or (InvalidOid) those
// whose database has no scheduler to do it, or none that does. `grace` in microseconds.
Stopped stop_overdue_jobs(Oid database, std::int64_t grace);

// Of the table itself; they need the lock
// ----------------------------------------------------------------------------------------------

// A request to cancel a job.
struct Cancellation {
    bool is_there;
    CancellationError error;  // what the job ends with
};
Cancellation cancellation_of(Oid database, std::int64_t job_id) noexcept;
void forget_cancellation(Oid database, std::int64_t job_id) noexcept;

}  // namespace hipq::executors
