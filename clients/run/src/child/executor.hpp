// Runs the jobs: a program for each (single/), or one for all (batch/).
#pragma once

#include "hipq/client/attendance.hpp"

#include "child/ending.hpp"
#include "child/process.hpp"
#include "child/said.hpp"

namespace hipq::run {

using client::Attempt;
using client::ClaimedJob;
using client::LogEntry;

inline Attempt name_of(const ClaimedJob &job)
{
    return {job.id, job.attempt};
}

// Reports of an executor.
struct Reports {
    std::function<void(const ClaimedJob &, const Ending &)> ended;
    std::function<void(Attempt, const Said &)> said;
    std::function<void(const LogEntry &)> log;
};

class Executor {
public:
    Executor() = default;
    Executor(const Executor &) = delete;
    Executor &operator=(const Executor &) = delete;
    virtual ~Executor() = default;

    virtual void start(const ClaimedJob &job) = 0;
    // The attempt is over: its result is not needed, and its program must end.
    virtual void over(Attempt attempt) = 0;
    // Ends all programs, and gives their jobs back.
    virtual void end_all() = 0;
    // No more jobs will come.
    virtual void finish() = 0;
    // SIGCHLD has arrived.
    virtual void look() = 0;
    // How many more jobs it can take; how many run; whether no program runs any more.
    virtual int free() const = 0;
    virtual int running() const = 0;
    virtual bool has_finished() const = 0;
};

struct ExecutorOptions {
    std::vector<std::string> command;
    int jobs;
    Loop::Milliseconds kill_after;
    bool failure_is_final;
    std::size_t max_output;
};

// How much of stderr goes into an error: the server keeps 8 kB.
inline constexpr std::size_t error_tail_size = 8'000;
inline constexpr std::size_t longest_line = 4'096;
// The delay before a job is tried again if its program could not start; this is not the job's
// fault.
inline constexpr const char *delay_without_program = "10";

}  // namespace hipq::run
