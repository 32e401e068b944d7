// Which job types take the server down: their latest crashes, and the hold that comes of too many.
//
// Both are rows of the catalogue, so they outlive the next crash, and every process knows of a hold
// before its next claim.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::recovery {

// A crash of the server that jobs of a queue may have made.
struct TypeCrash {
    pg::Time time;
    std::vector<std::int64_t> job_ids;
    bool with_others;                            // or jobs of other queues
    std::vector<std::int64_t> earlier_suspects;  // jobs of the queue
};

// Lays it to the job type of the jobs, if they are of one, or to the queue's handler of dead
// letters if that had a final job. Of several types those are blamed that had a suspect before.
// With hipq.max_type_crashes within core::crash_window a type is paused, which the log says.
// Whoever holds the row of the type is waited for a moment only, then 55P03 is raised. Doing it
// twice for one crash does nothing more. Needs a transaction.
void blame_types_of(const catalog::Queue &queue, const TypeCrash &crash);

// Its handlers are others now: nothing is known against them. Needs a transaction.
void forget_type_crashes(int queue_id, std::string_view job_type);

// The handler of dead letters is to be called again. Returns whether it was held, or was about to
// be. Needs a transaction.
bool forget_dead_letter_crashes(int queue_id);

}  // namespace hipq::recovery
