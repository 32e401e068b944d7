// Which job types take the server down: their latest crashes, and the hold that comes of too many.
//
// Both are rows of the catalogue, so they outlive the next crash, and every process knows of a hold
// before its next claim.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::recovery {

// Lays a crash to the job type of jobs that were in flight, if they are of one, or to the queue's
// handler of dead letters if that had a final job. With hipq.max_type_crashes within
// core::crash_window the type is paused, which the log says. Whoever holds the row of the type is
// waited for a moment only, then 55P03 is raised. Doing it twice for one crash does nothing more.
// Needs a transaction.
void blame_type_of(const catalog::Queue &queue, const std::vector<std::int64_t> &job_ids,
                   pg::Time crashed);

// Its handlers are others now: nothing is known against them. Needs a transaction.
void forget_type_crashes(int queue_id, std::string_view job_type);

// The handler of dead letters is to be called again. Returns whether it was held, or was about to
// be. Needs a transaction.
bool forget_dead_letter_crashes(int queue_id);

}  // namespace hipq::recovery
