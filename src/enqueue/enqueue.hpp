// New jobs, whichever way they come: functions, INSERT, COPY, and what happens when a key is taken.
// What other rooms may use.
#pragma once

#include "enqueue/by_call.hpp"
#include "enqueue/copy_jobs.hpp"
#include "enqueue/new_job.hpp"
#include "enqueue/new_rows.hpp"
#include "enqueue/queue_for.hpp"
#include "enqueue/successor.hpp"
#include "enqueue/successors_duty.hpp"
