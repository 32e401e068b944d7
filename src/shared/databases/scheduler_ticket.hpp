// A scheduler to start, and the slot that is meant by it.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::databases {

// What the launcher gives to the process that it starts.
struct SchedulerTicket {
    int slot;
    std::uint32_t generation;
    Oid database;
};

// The slot that a ticket names, if it is still that one's; else null. Needs the lock.
memory::DatabaseSlot *slot_of(const SchedulerTicket &ticket);

// After a failure: no scheduler is started there for 1 s, twice as long with each failure in a row,
// 60 s at most. Needs the lock.
void put_off(memory::DatabaseSlot &slot);

// Whether it is put off still. Needs the lock.
bool is_put_off(const memory::DatabaseSlot &slot, pg::Time now);

}  // namespace hipq::databases
