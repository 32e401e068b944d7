// Jobs whose executor is gone, until it is known what becomes of them.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::executors {

// A job whose executor is gone: nobody can reserve it until the scheduler of its database releases
// it, which gives the slot free with the last one.
struct Orphan {
    int slot;
    std::uint32_t generation;
    memory::RunningJob job;
    int pid;
    bool asked_retry_handler;  // not the handler ran, but the retry handler
    bool timed_out;            // its code was past its deadline
    bool is_cancelled;         // it was to be cancelled
};
std::size_t find_orphans(Oid database, std::span<Orphan> orphans);
std::string cancellation_of(const Orphan &orphan);  // what it is to end with
void release_orphan(const Orphan &orphan);

}  // namespace hipq::executors
