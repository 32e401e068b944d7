// Keeps the latest crashes of job types, and holds a type with too many.
//
// Both are rows of the catalogue, so they outlive the next crash, and every process knows of a hold
// before its next claim.
#pragma once

#include "catalog/cache.hpp"
#include "recovery/recovery.hpp"

namespace hipq::recovery {

// A crash of the server that jobs of a queue may have caused.
struct TypeCrash {
    pg::Time time;
    std::vector<std::int64_t> job_ids;
    bool with_others;                            // or jobs of other queues may have caused it
    std::vector<std::int64_t> earlier_suspects;  // jobs of the queue
};

// Counts the crash against the type of the jobs if all are of one type, or against the queue's
// handler of dead letters if that was handling a final job. Of several types, only the types that
// already had a suspect are blamed. With hipq.max_type_crashes within core::crash_window, a type is
// paused, and the log says so. Waits only for a moment for a lock on the type's row, then raises
// 55P03. Repeating the call for one crash has no effect. Needs a transaction.
void blame_types_of(const catalog::Queue &queue, const TypeCrash &crash);

}  // namespace hipq::recovery
