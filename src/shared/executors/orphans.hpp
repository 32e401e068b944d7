// Orphans: jobs whose executor has exited, until the scheduler has decided what becomes of them.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::executors {

// A job whose executor has exited. No process can reserve it until the scheduler of its database
// releases it; releasing the last one frees the slot.
struct Orphan {
    int slot;
    std::uint32_t generation;
    memory::RunningJob job;
    int pid;
    bool asked_retry_handler;  // the retry handler ran, not the job's handler
    bool timed_out;            // its code was past its deadline
    bool is_cancelled;         // its cancellation was requested
};
std::size_t find_orphans(Oid database, std::span<Orphan> orphans);
std::string cancellation_of(const Orphan &orphan);  // the error it must end with
void release_orphan(const Orphan &orphan);

}  // namespace hipq::executors
