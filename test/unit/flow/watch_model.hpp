// A model of the protocol of watched jobs (core/flow/watch_protocol.hpp): transactions that make
// jobs wait, transactions that end the jobs before these, the scheduler, and a process that empties
// the filter.
//
// A step of the model is one access of a process to what others see: a commit, a snapshot, a lock
// on a row, a bit, a counter, the list. Between two steps of a process all others may go on, the
// scheduler's process may exit, and the server may crash. The decisions are those of core::judge.
#pragma once

#include "core/flow/waits.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace hipq::test {

using Bits = std::uint8_t;    // jobs, by number
using Number = std::uint8_t;  // of a job

inline constexpr std::size_t jobs_before = 3;
inline constexpr std::size_t jobs_after = 2;  // of these jobs, or of some
inline constexpr std::size_t most_waiters = 2;
inline constexpr std::size_t list_room = 2;

// A transaction that makes jobs wait. It may end in each way that is true here.
struct WaiterSetting {
    Bits jobs = 0;            // that it makes wait
    Bits makes = 0;           // jobs before that it makes, too
    Bits adds = 0;            // adds these to the filter without making a job wait
    bool is_restore = false;  // adds nothing, and reports all waits
    bool commits = true;
    bool rolls_back = false;
    bool is_prepared = false;  // and committed by another process
};

struct WatchSetting {
    std::array<Bits, jobs_after> before{0b01, 0};  // what each job waits for; 0: no such job
    core::AfterPolicy policy = core::AfterPolicy::finished;
    core::OnFailure on_failure = core::OnFailure::fail;
    std::array<WaiterSetting, most_waiters> waiters{{{0b01}, {}}};
    Bits present = 0b11;  // jobs before, unless a transaction makes them
    Bits waiting = 0;     // jobs that wait from the beginning
    Bits never_end = 0;
    Bits fail = 0;
    Bits release = 0;       // their ends release jobs in the same transaction
    Bits end_prepared = 0;  // their ends are prepared and committed by another process
    // The first job has the key of the first job before it, and waits for the key. The second job
    // before takes the key if it can, after the first one has ended.
    bool waits_for_key = false;
    // Each job has few before it: all of these are watched, and ends count their looks at the job.
    bool has_few_before = false;
    bool walks_one_by_one = false;
    std::size_t room = list_room;  // of the list of ends
    Number renewals = 0;
    Number exits = 0;  // of the scheduler
    Number crashes = 0;
};

// Steps of the process that empties the filter.
enum class Renewal : std::uint8_t {
    clear_first,  // the bit of a job
    clear_second,
    reset_count,
    change_generation,
    tell,  // the scheduler
    end,
};

// What the processes do; a test can break it.
struct WatchRules {
    // Transactions
    bool waiter_reports = true;
    bool prepared_is_reported = true;
    bool finisher_looks_after_commit = true;
    bool failures_are_reported = true;    // even if they are not watched
    bool released_end_is_silent = false;  // even if a wait was reported since
    bool ends_count_looks = true;
    bool end_reads_count_first = true;  // before it reads the tables
    // The filter
    bool count_follows_bit = false;
    bool clearing_subtracts = true;  // the bit from the count
    std::array<Renewal, 6> renewal{
        Renewal::clear_first, Renewal::clear_second, Renewal::change_generation,
        Renewal::tell,        Renewal::end,          Renewal::end};
    // The scheduler
    bool start_walks = true;           // after a crash
    bool scheduler_marks_work = true;  // so that the next scheduler walks if this one exits
    bool report_is_an_end = false;     // without a look at the tables
    bool scheduler_reads_again = true;
    bool scheduler_counts_looks = true;
    bool scheduler_counts_many = true;        // as many as there are jobs before
    bool reads_again_if_none_is_left = true;  // to be watched
    bool found_bit_is_old = false;            // as if it had been set before the tables were read
    bool new_row_is_reported = true;          // that the transaction has written for a follower
};

// What a process has to report after a commit: 0 is nothing, else a job or all waits.
using Report = std::uint8_t;
inline constexpr Report nothing = 0;
inline constexpr Report all_waits = 255;

enum class WaiterStep : std::uint8_t {
    begins,
    adds,
    has_half_added,
    ends,
    is_prepared,
    compares,
    reports,
    asks,
    is_done,
};
struct WaiterState {
    WaiterStep step;
    Bits to_add;
    std::uint8_t is_renewed;  // the generation, since it was read
    Report report;
};

enum class FinisherStep : std::uint8_t {
    begins,
    finds_later,
    reads,
    releases,
    commits,
    looks_at_count,
    counts_looks,
    looks_at_reports,
    looks_at_bit,
    reports,
    asks,
    is_done,
};
struct FinisherState {
    FinisherStep step;
    Bits ready;  // jobs that it releases
    Bits later;  // jobs whose looks it has read the number of: in the end, those that wait
    // Of these, how many looks others have counted since, and how many jobs before are unfinished.
    std::array<Number, jobs_after> new_looks;
    std::array<Number, jobs_after> unfinished;
    std::uint8_t is_settled;
    std::uint8_t has_new_wait;  // since it has begun to release jobs
    Report report;
};

enum class SchedulerStep : std::uint8_t {
    rests,
    is_awake,
    reads_calls,
    takes_list,
    chooses,
    compares_calls,
    finds_later,
    finds_held,
    counts_looks,
    reads,
    decides,
    watches,
    has_half_added,
    commits,
    compares,
    reports,
    asks,
};
struct SchedulerState {
    SchedulerStep step;
    Number known, walk, present;  // numbers of calls
    Number place;                 // of the walk; 0: it has reached the end
    Bits ended;                   // reported
    Bits locked;                  // jobs to decide about again
    // A transaction:
    std::uint8_t is_after_ends;
    Bits ids, again;
    Bits old;    // jobs before that were added before the present read
    Bits added;  // by this transaction
    Bits released;
    Bits seen_ended, seen_present;
    Bits to_watch;
    std::uint8_t all_are_old;
    std::uint8_t has_added;
    std::uint8_t is_renewed;
    Report new_row;  // the holder of the key
    Report report;
};

struct WatchState {
    // The tables, as committed.
    Bits present;   // jobs before
    Bits ended;     // of these
    Bits waiting;   // jobs that were made to wait
    Bits free;      // of these, those that were released, or ended without a start
    Number holder;  // of the key, as the row of the waiting job names it
    // Locks on the rows of waiting jobs: 0 is none.
    std::array<std::uint8_t, jobs_after> locks;
    // Shared memory.
    Bits filter;
    Number count;
    std::array<Report, list_room> list;
    Number calls, seen;
    std::uint8_t is_asked;
    // Processes.
    std::array<WaiterState, most_waiters> waiters;
    std::array<FinisherState, jobs_before> finishers;
    SchedulerState scheduler;
    Number renewal_step, renewals, exits, crashes;
};

class WatchModel {
public:
    using State = WatchState;
    explicit WatchModel(const WatchSetting &setting, const WatchRules &rules = {})
        : setting_(setting), rules_(rules)
    {
    }

    State start() const;
    const char *fault(const State &state) const;
    bool is_end(const State &state) const;

    template <typename Emit>
    void each_next(const State &state, Emit &&emit) const;

    bool step_waiter(State &state, std::size_t n) const;
    bool end_waiter(State &state, std::size_t n, WaiterStep next) const;
    bool commit_prepared(State &state, std::size_t n) const;
    bool step_finisher(State &state, std::size_t n) const;
    bool step_scheduler(State &state) const;
    bool run_out_of_time(State &state) const;
    bool exit_scheduler(State &state) const;
    bool renew(State &state) const;
    bool take_key(State &state) const;
    bool crash(State &state) const;

private:
    // Jobs
    Bits before(const State &state, std::size_t job) const;
    core::AfterVerdict judge(Bits before, Bits ended) const;
    Bits to_watch(Bits before, Bits ended) const;
    Bits jobs_after_any(const State &state, Bits ended) const;

    // Shared memory
    bool begin_to_add(State &state, Bits job) const;
    void end_adding(State &state, Bits job) const;
    void put_report(State &state, Report &report) const;
    void count_new_wait(State &state) const;
    static void count_looks(State &state, Bits jobs, Number by);
    void change_generation(State &state) const;
    static void make_ranks(State &state);

    // Processes
    void commit_waiter(State &state, std::size_t n, Report report) const;
    bool release(State &state, Bits jobs, std::uint8_t holder) const;
    void find_later(State &state, std::size_t n) const;
    void read_later(State &state, std::size_t n) const;
    bool count_own_look(State &state, std::size_t n) const;
    void end_look(FinisherState &finisher, std::size_t n, bool is_found) const;
    void take_reports(State &state) const;
    void choose(State &state) const;
    void walk_on(State &state) const;
    void begin_decisions(State &state, Bits ids) const;
    void begin_round(State &state) const;
    void read(State &state) const;
    void decide(State &state) const;
    void watch(State &state) const;
    void end_watch(State &state) const;
    void end_job(State &state) const;
    void go_on(State &state) const;
    void commit_decisions(State &state) const;
    void compare_generation(State &state) const;
    void end_decisions(State &state) const;
    bool is_at_rest(const State &state) const;

    WatchSetting setting_;
    WatchRules rules_;
};

template <typename Emit>
void WatchModel::each_next(const State &state, Emit &&emit) const
{
    const auto attempt = [&](const char *what, auto &&step) {
        State next = state;
        if (step(next)) {
            make_ranks(next);
            emit(next, what);
        }
    };
    const auto step_of = [](const auto &process) { return static_cast<std::size_t>(process.step); };

    for (std::size_t n = 0; n < most_waiters; ++n) {
        static constexpr std::array names{"a waiter begins",
                                          "a waiter adds a job to the filter",
                                          "a waiter has added the job",
                                          "",
                                          "",
                                          "a waiter compares the generation",
                                          "a waiter reports",
                                          "a waiter asks for a look",
                                          ""};
        attempt(names.at(step_of(state.waiters[n])),
                [&](State &next) { return step_waiter(next, n); });
        attempt("a waiter commits",
                [&](State &next) { return end_waiter(next, n, WaiterStep::compares); });
        attempt("a waiter rolls back",
                [&](State &next) { return end_waiter(next, n, WaiterStep::is_done); });
        attempt("a waiter is prepared",
                [&](State &next) { return end_waiter(next, n, WaiterStep::is_prepared); });
        attempt("a prepared waiter commits", [&](State &next) { return commit_prepared(next, n); });
    }
    for (std::size_t n = 0; n < jobs_before; ++n) {
        static constexpr std::array names{"an end begins",
                                          "an end finds the jobs after it",
                                          "an end reads what these wait for",
                                          "an end releases jobs",
                                          "an end commits",
                                          "an end looks whether the filter is empty",
                                          "an end counts its look at a job",
                                          "an end looks for new waits",
                                          "an end looks at its bit",
                                          "an end is reported",
                                          "an end asks for a look",
                                          ""};
        attempt(names.at(step_of(state.finishers[n])),
                [&](State &next) { return step_finisher(next, n); });
    }
    static constexpr std::array names{"the scheduler wakes up",
                                      "the scheduler takes the request",
                                      "the scheduler reads the number of calls",
                                      "the scheduler takes the list",
                                      "the scheduler chooses",
                                      "the scheduler compares the number of calls",
                                      "the scheduler finds jobs after those that have ended",
                                      "the scheduler finds all jobs that wait",
                                      "the scheduler counts its look at jobs",
                                      "the scheduler reads the tables",
                                      "the scheduler decides about a job",
                                      "the scheduler adds a job to the filter",
                                      "the scheduler has added the job",
                                      "the scheduler commits",
                                      "the scheduler compares the generation",
                                      "the scheduler reports",
                                      "the scheduler asks itself for a look"};
    attempt(names.at(step_of(state.scheduler)), [&](State &next) { return step_scheduler(next); });
    attempt("the scheduler's time is up", [&](State &next) { return run_out_of_time(next); });
    attempt("the scheduler exits, and starts again",
            [&](State &next) { return exit_scheduler(next); });
    attempt("the filter is emptied, by a step", [&](State &next) { return renew(next); });
    attempt("another job takes the key", [&](State &next) { return take_key(next); });
    attempt("the server crashes", [&](State &next) { return crash(next); });
}

}  // namespace hipq::test
