// Named points on the path of a job, at which tests make a process fail, wait or die. Test builds
// only (HIPQ_POINTS); elsewhere HIPQ_POINT does nothing.
//
// A point is armed for one passage: the first process that reaches it performs the action. Counters
// and armed actions are in memory that survives a crash of the server's processes, but not of the
// postmaster.
#pragma once

#ifdef HIPQ_POINTS

#include "pg/postgres.hpp"

namespace hipq::pg {

// The only list of points, in the order of a job's path. A point that is not listed does not
// compile; the test of all points fails for one that is listed and never reached.
inline constexpr auto point_names = std::to_array<std::string_view>({
    // client
    "in-enqueue",
    // scheduler, for an external worker
    "before-dispatch",
    "before-offer",
    "after-offer",
    // executor
    "executor-start",
    "before-look",
    "after-reserve",
    "before-claim",
    "after-lock",
    "after-record",
    "after-record-commit",
    "before-handler",
    "after-handler",
    "in-batch-finish",
    "after-release",
    "after-finish",
    "after-finish-commit",
    "before-group-flush",
    "before-one-by-one",
    "before-resolve",
    "after-resolve",
    "after-resolve-commit",
    "before-decision",
    "after-retry-handler",
    "after-decision",
    "before-give-up",
    "after-give-up",
    "before-clean-session",
    "executor-leaves",
    "executor-ends",
    // scheduler
    "scheduler-start",
    "before-recover",
    "after-recover",
    "before-orphan",
    "after-orphan",
    "before-release-orphan",
    "after-read-catalogue",
    "before-decide",
    "after-decide",
    "before-expire",
    "after-expire",
    "before-ask-for-executors",
    "after-take-back",
    "before-drop-leaf",
    "after-drop-leaf",
    "before-make-leaf",
    "after-make-leaf",
    "after-prune",
    "before-run-schedule",
    "after-run-schedule",
    "scheduler-leaves",
    // launcher
    "launcher-start",
    "before-start-scheduler",
    "after-start-scheduler",
    "before-start-executor",
    "after-start-executor",
});

// What a process does at an armed point: raises an error; is cancelled, terminated, killed;
// crashes; exits; waits until it is released.
inline constexpr auto point_actions = std::to_array<std::string_view>(
    {"none", "error", "cancel", "terminate", "exit", "abort", "kill", "wait"});

consteval std::size_t point_number(std::string_view name)
{
    for (std::size_t i = 0; i < point_names.size(); ++i)
        if (point_names[i] == name)
            return i;
    throw "no such point";  // not a constant: does not compile
}

struct PointState {
    std::string_view name;
    std::int64_t reached;  // passages so far
    std::int64_t fired;
    std::string_view armed;
    std::int32_t waiting;  // the waiting process; 0: none
};

// Creates the memory. _PG_init calls it while preloading; without it points do nothing. Raises
// ERROR by longjmp.
void prepare_points();

// Passes a point. Raises what the point is armed with. Must not be used under memory::Lock or in
// callbacks.
void reach_point(std::size_t number);

// Arms a point for one passage, after letting `pass` others go by. 22023 for an unknown name or
// action.
void arm_point(std::string_view name, std::string_view action, std::int32_t pass);

// Disarms all points, releases waiting processes and resets the counters.
void reset_points();

std::vector<PointState> list_points();

}  // namespace hipq::pg

#define HIPQ_POINT(name) ::hipq::pg::reach_point(::hipq::pg::point_number(name))

#else

namespace hipq::pg {
inline void prepare_points() {}
}  // namespace hipq::pg

#define HIPQ_POINT(name) static_cast<void>(0)

#endif
