// Carries out the runs of one schedule that are due.
#pragma once

#include "admin/schedules/schedule_rows.hpp"

namespace hipq::admin {

// Which process runs the schedule: the scheduler, which runs no user code, or a process of the
// run's own.
enum class Runner : unsigned char { scheduler, own_process };

enum class Handled : unsigned char {
    done,               // as far as it is due, or some of many missed runs
    later,              // it is locked
    needs_own_process,  // its queue has triggers of users
};

// Handles a schedule that is due: enqueues its jobs, or records why not, and sets its next time.
// All of it is one transaction, which the caller has begun; if it aborts, nothing has happened.
// Raises errors that are no fault of the schedule, and those about locks.
Handled handle_due(int id, Runner runner, pg::Time now);

}  // namespace hipq::admin
