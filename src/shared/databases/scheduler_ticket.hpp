// A scheduler to start, and the slot it is started for.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::databases {

// What the launcher passes to the process that it starts.
struct SchedulerTicket {
    int slot;
    std::uint32_t generation;
    Oid database;
};

// Returns the slot that a ticket names, or null if the ticket is no longer valid. Needs the lock.
memory::DatabaseSlot *slot_of(const SchedulerTicket &ticket);

// After a failure, delays the next start of the scheduler by 1 s, twice as long with each failure
// in a row, 60 s at most. Needs the lock.
void put_off(memory::DatabaseSlot &slot);

// Whether the start is still delayed. Needs the lock.
bool is_put_off(const memory::DatabaseSlot &slot, pg::Time now);

}  // namespace hipq::databases
