// Notes ends of attempts and orders for breakers, and carries them out at commit.
//
// At that moment the locks of the transaction are still held: a process that waits for the row of
// a breaker in hipq.breaker_state finds the order carried out.
#include "shared/executors/breaker_notes.hpp"

#include "pg/clock.hpp"
#include "settings.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/executors/freed_capacity.hpp"
#include "shared/lanes/in_flight_table.hpp"
#include "shared/memory/registry.hpp"
#include "shared/memory/transaction_notes.hpp"

namespace hipq::executors {

namespace {

struct EndedAttempt {
    std::int64_t job_id;
    core::AttemptEnd end;
};
struct BreakerNotes {
    memory::TransactionNotes<EndedAttempt> ends;
    memory::TransactionNotes<OrderedBreaker> orders;
    bool empty() const { return ends.empty() && orders.empty(); }
};
constinit BreakerNotes *breaker_notes = nullptr;  // on the heap, so that no destructor runs at exit

BreakerNotes &own_breaker_notes()
{
    if (breaker_notes == nullptr)
        breaker_notes = new BreakerNotes();
    return *breaker_notes;
}

// Needs the lock. Returns whether the breaker has changed.
bool count_end(core::JobTable &table, const EndedAttempt &ended, std::int64_t now)
{
    const std::int32_t entry = table.find(MyDatabaseId, ended.job_id);
    return entry != core::no_entry &&
           table.conclude(entry, ended.end == core::AttemptEnd::failed, now);
}

// Needs the lock. An entry is made also to close: a process that has not yet heard of the commit
// would make one from the row that is gone, and it would stay open.
void carry_out_order(core::JobTable &table, const OrderedBreaker &ordered, std::int64_t now)
{
    const bool had_row = ordered.order.row.change != 0;
    std::int32_t breaker = table.breakers().find(ordered.name);
    if (breaker == core::no_breaker && had_row)
        breaker = table.breakers().find_or_make(
            ordered.name, {ordered.rule, {}, ordered.owner, settings::max_owner_share}, now);
    if (breaker != core::no_breaker)
        table.order(breaker, ordered.order, now);
}

void carry_out_breaker_notes()
{
    core::FreedCapacity freed{};
    bool has_changed = !breaker_notes->orders.empty();
    {
        const lanes::InFlightLock lock(LW_EXCLUSIVE);
        core::JobTable table = lanes::jobs_in_flight();
        const std::int64_t now = pg::steady_now();
        breaker_notes->ends.carry_out([&](const EndedAttempt &ended) {
            has_changed = count_end(table, ended, now) || has_changed;
        });
        breaker_notes->orders.carry_out(
            [&](const OrderedBreaker &ordered) { carry_out_order(table, ordered, now); });
        freed = table.take_freed_capacity();
    }
    if (has_changed)
        databases::work_due(MyDatabaseId, pg::Time{0});  // to write it to hipq.breaker_state
    if (freed.any)
        announce_freed_capacity(freed, MyDatabaseId, InvalidOid);
}

void forget_breaker_notes() noexcept
{
    breaker_notes->ends.forget();
    breaker_notes->orders.forget();
}

extern "C" void hipq_breaker_transaction_ends(XactEvent event, void *)
{
    if (breaker_notes == nullptr || breaker_notes->empty())
        return;
    if (event == XACT_EVENT_COMMIT)
        carry_out_breaker_notes();
    if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
        forget_breaker_notes();
}

extern "C" void hipq_breaker_subtransaction_ends(SubXactEvent event, SubTransactionId id,
                                                 SubTransactionId parent, void *)
{
    if (breaker_notes == nullptr)
        return;
    breaker_notes->ends.end_subtransaction(event, id, parent);
    breaker_notes->orders.end_subtransaction(event, id, parent);
}

}  // namespace

void note_attempt_end(std::int64_t job_id, core::AttemptEnd end)
{
    if (memory::is_loaded() && end != core::AttemptEnd::uncounted)
        own_breaker_notes().ends.add({job_id, end});
}

void order_breaker(const OrderedBreaker &ordered)
{
    if (memory::is_loaded())
        own_breaker_notes().orders.add(ordered);
}

void watch_breakers()
{
    ::RegisterXactCallback(hipq_breaker_transaction_ends, nullptr);
    ::RegisterSubXactCallback(hipq_breaker_subtransaction_ends, nullptr);
}

}  // namespace hipq::executors
