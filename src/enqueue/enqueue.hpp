// The interface of this room: new jobs by function, INSERT or COPY, and what happens if a key is
// taken.
#pragma once

#include "enqueue/by_call.hpp"
#include "enqueue/copy_jobs.hpp"
#include "enqueue/new_job.hpp"
#include "enqueue/new_rows.hpp"
#include "enqueue/queue_for.hpp"
#include "enqueue/successor.hpp"
#include "enqueue/successors_duty.hpp"
