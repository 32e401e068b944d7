// Finds the slot of a ticket, and delays the start of schedulers that failed.
#include "shared/databases/scheduler_ticket.hpp"

#include "pg/clock.hpp"

namespace hipq::databases {

namespace {

constexpr std::int64_t first_delay = 1'000'000;  // us
constexpr std::int64_t longest_delay = 60'000'000;

}  // namespace

memory::DatabaseSlot *slot_of(const SchedulerTicket &ticket)
{
    if (ticket.slot < 0)
        return nullptr;
    memory::DatabaseSlot &slot = memory::registry()->databases[ticket.slot];
    return slot.generation == ticket.generation && slot.database == ticket.database ? &slot
                                                                                    : nullptr;
}

void put_off(memory::DatabaseSlot &slot)
{
    const std::int64_t delay = std::min(longest_delay, first_delay << std::min(slot.failures, 6));
    ++slot.failures;
    slot.not_before = pg::now() + delay;
}

// A time later than any delay means that the clock was set back.
bool is_put_off(const memory::DatabaseSlot &slot, pg::Time now)
{
    return slot.not_before > now && slot.not_before <= now + longest_delay;
}

}  // namespace hipq::databases
