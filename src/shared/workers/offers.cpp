// Keeps the jobs that workers are offered.
//
// They are entries of the table of jobs in flight with a holder of their own for each worker. When
// a transaction takes one, the entry becomes one of the jobs that the worker runs.
#include "shared/workers/offers.hpp"

#include "core/lanes/job_table.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/executors/freed_capacity.hpp"
#include "shared/lanes/in_flight.hpp"
#include "shared/lanes/in_flight_table.hpp"
#include "shared/memory/own_holder.hpp"
#include "shared/memory/transaction_notes.hpp"
#include "shared/workers/entries.hpp"
#include "shared/workers/worker_table.hpp"

namespace hipq::workers {

namespace {

// What this transaction has taken, and the jobs that it has kept from being accepted.
struct Taken {
    std::int64_t worker_id;
    std::int64_t job_id;
    std::uint64_t serial;
};
struct OfferNotes {
    memory::TransactionNotes<Taken> taken;
    memory::TransactionNotes<std::int64_t> void_jobs;
};
constinit OfferNotes *notes = nullptr;  // on the heap, so that no destructor runs at exit

OfferNotes &own_notes()
{
    if (notes == nullptr)
        notes = new OfferNotes();
    return *notes;
}

// Changes entries under the lock, and tells of the capacity that this frees.
template <class Change>
void change_entries(const Change &change) noexcept
{
    core::FreedCapacity freed{};
    {
        const lanes::InFlightLock lock(LW_EXCLUSIVE);
        core::JobTable table = lanes::jobs_in_flight();
        change(table);
        freed = table.take_freed_capacity();
    }
    if (freed.any)
        executors::announce_freed_capacity(freed, MyDatabaseId, InvalidOid);
}

// The offer goes back into its lane. Needs the lock.
void withdraw(core::JobTable &table, std::int32_t entry,
              pg::Time not_before = pg::Time{core::lane_start.time})
{
    const core::JobEntry &job = table.at(entry);
    lanes::return_to_lane(job, not_before);
    note_not_given({{worker_at(place_of(job)), place_of(job)}, job.is_probe});
    table.erase(entry);
}

// Needs the lock. An offer that the scheduler is about to make ends there.
void withdraw_if_offered(core::JobTable &table, std::int64_t job_id)
{
    const std::int32_t entry = table.find(MyDatabaseId, job_id);
    if (entry == core::no_entry)
        return;
    if (is_offered(table.at(entry)))
        withdraw(table, entry);
    else if (is_with_scheduler(table.at(entry)))
        table[entry].is_cancelled = true;
}

// Needs the lock. no_entry: the transaction does not have it any more.
std::int32_t find_taken(const core::JobTable &table, std::int64_t job_id, std::uint64_t serial)
{
    const std::int32_t entry = table.find(MyDatabaseId, job_id);
    return entry != core::no_entry && table.at(entry).serial == serial &&
                   is_being_accepted(table.at(entry))
               ? entry
               : core::no_entry;
}

// Needs the lock.
void give_back(core::JobTable &table, const Taken &taken)
{
    const std::int32_t entry = find_taken(table, taken.job_id, taken.serial);
    if (entry == core::no_entry)
        return;
    const std::int32_t place = place_of(table.at(entry));
    table[entry].phase = core::JobPhase::offered;
    table.hand_back(entry, memory::offer_holder(place));
    note_given_back(taken.worker_id);
}

core::JobEntry &make_offer(core::JobTable &table, std::int32_t entry, const NewOffer &offer)
{
    core::JobEntry &job = table[entry];
    job.phase = core::JobPhase::offered;
    job.attempt = offer.attempt;
    job.deadline = offer.deadline.value;
    job.place = row_place(offer.place);
    job.is_accepted = false;
    job.is_probe = offer.choice.is_probe;
    return job;
}

// What this transaction has given up may be another one's by its end.
void forget_taken(std::span<const TakenOffer> offers)
{
    own_notes().taken.forget_if([&](const Taken &taken) {
        return std::ranges::find(offers, taken.serial, &TakenOffer::serial) != offers.end();
    });
}

TakenOffer take(core::JobTable &table, std::int32_t entry)
{
    core::JobEntry &job = table[entry];
    job.phase = core::JobPhase::running;
    table.hand_over(entry, memory::worker_holder(place_of(job)));
    TakenOffer taken{job.job_id, job.serial, job.queue_id, item_pointer(job.place)};
    if (job.is_weighed)
        taken.load = core::Load{job.weight, 0, table.key_of(entry)};
    taken.admission = table.admission_of(entry);
    return taken;
}

// Gives back what the transaction, or one of its subtransactions, has taken. The scheduler may have
// waited for it to decide about an offer whose time is over.
void give_back_all(SubTransactionId only = InvalidSubTransactionId) noexcept
{
    change_entries([&](core::JobTable &table) {
        notes->taken.carry_out_backwards([&](const Taken &taken) { give_back(table, taken); },
                                         only);
    });
    databases::work_due(MyDatabaseId, pg::Time{0});
    databases::ask_for_dispatch(MyDatabaseId);
}

}  // namespace

// ---- scheduler ----

void offer_jobs(std::span<const NewOffer> offers) noexcept
{
    pg::Time next = pg::infinity;
    change_entries([&](core::JobTable &table) {
        for (const NewOffer &offer : offers) {
            next = std::min(next, offer.deadline);
            const std::int32_t entry = table.find(MyDatabaseId, offer.id);
            if (entry == core::no_entry || table[entry].holder != memory::own_holder() ||
                table[entry].is_cancelled) {
                note_not_given(offer.choice);
                continue;
            }
            make_offer(table, entry, offer);
            table.hand_over(entry, memory::offer_holder(offer.choice.worker.place));
        }
    });
    if (next != pg::infinity)
        databases::work_due(MyDatabaseId, next);
    for (const NewOffer &offer : offers)
        wake_waiting_worker(offer.choice.worker);
}

void cancel_offers(std::span<const NewOffer> offers) noexcept
{
    for (const NewOffer &offer : offers)
        note_not_given(offer.choice);
}

std::size_t withdraw_offers(std::int64_t worker_id, int queue_id) noexcept
{
    const std::optional<std::int32_t> place = place_of_worker(worker_id);
    if (!place.has_value())
        return 0;
    std::size_t count = 0;
    change_entries([&](core::JobTable &table) {
        for (std::int32_t entry = table.first_of(memory::offer_holder(*place));
             entry != core::no_entry;) {
            const std::int32_t next = table.next_of(entry);
            if (queue_id == 0 || table.at(entry).queue_id == queue_id) {
                withdraw(table, entry);
                ++count;
            }
            entry = next;
        }
    });
    if (count > 0)
        databases::ask_for_dispatch(MyDatabaseId);
    return count;
}

void drop_offer(std::int64_t job_id) noexcept
{
    change_entries([&](core::JobTable &table) { withdraw_if_offered(table, job_id); });
    databases::ask_for_dispatch(MyDatabaseId);
}

// ---- the worker accepts ----

std::vector<TakenOffer> take_offers(std::int64_t worker_id, std::size_t most)
{
    const std::optional<std::int32_t> place = place_of_worker(worker_id);
    if (!place.has_value())
        return {};
    const std::size_t ended = own_ends(worker_id);
    std::vector<TakenOffer> taken;
    {
        const lanes::InFlightLock lock(LW_SHARED);
        most = std::min(most, static_cast<std::size_t>(
                                  lanes::jobs_in_flight().count_of(memory::offer_holder(*place))));
    }
    taken.reserve(most);  // allocate before taking the lock
    own_notes().taken.reserve(most);
    {
        const lanes::InFlightLock lock(LW_EXCLUSIVE);
        core::JobTable table = lanes::jobs_in_flight();
        const std::int32_t offers = memory::offer_holder(*place);
        most = note_taken(worker_id,
                          std::min(most, static_cast<std::size_t>(table.count_of(offers))), ended);
        while (taken.size() < most)
            taken.push_back(take(table, table.last_of(offers)));
    }
    for (const TakenOffer &offer : taken)
        own_notes().taken.add({worker_id, offer.id, offer.serial});
    return taken;
}

void give_back_offers(std::int64_t worker_id, std::span<const TakenOffer> offers) noexcept
{
    if (offers.empty())
        return;
    change_entries([&](core::JobTable &table) {
        for (std::size_t i = offers.size(); i-- > 0;)
            give_back(table, {worker_id, offers[i].id, offers[i].serial});
    });
    forget_taken(offers);
}

void end_offers(std::int64_t worker_id, std::span<const TakenOffer> offers,
                pg::Time not_before) noexcept
{
    if (offers.empty())
        return;
    change_entries([&](core::JobTable &table) {
        for (const TakenOffer &offer : offers) {
            const std::int32_t entry = find_taken(table, offer.id, offer.serial);
            if (entry == core::no_entry)
                continue;
            note_given_back(worker_id);
            withdraw(table, entry, not_before);
        }
    });
    forget_taken(offers);
    databases::work_due(MyDatabaseId, std::max(not_before, pg::Time{0}));
    databases::ask_for_dispatch(MyDatabaseId);
}

// ---- the end of a transaction ----

namespace {

bool has_offer_notes()
{
    return notes != nullptr && (!notes->taken.empty() || !notes->void_jobs.empty());
}

void end_void_offers()
{
    if (notes->void_jobs.empty())
        return;
    change_entries([&](core::JobTable &table) {
        notes->void_jobs.carry_out(
            [&](std::int64_t job_id) { withdraw_if_offered(table, job_id); });
    });
    databases::ask_for_dispatch(MyDatabaseId);
}

extern "C" void hipq_offers_transaction_ends(XactEvent event, void *)
{
    if (!has_offer_notes())
        return;
    if (event == XACT_EVENT_COMMIT)
        end_void_offers();
    else if (event == XACT_EVENT_ABORT && !notes->taken.empty())
        give_back_all();
    if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE) {
        notes->taken.forget();
        notes->void_jobs.forget();
    }
}

extern "C" void hipq_offers_subtransaction_ends(SubXactEvent event, SubTransactionId id,
                                                SubTransactionId parent, void *)
{
    if (!has_offer_notes())
        return;
    if (event == SUBXACT_EVENT_ABORT_SUB && notes->taken.has_any_of(id))
        give_back_all(id);
    notes->taken.end_subtransaction(event, id, parent);
    notes->void_jobs.end_subtransaction(event, id, parent);
}

}  // namespace

void note_offer_void(std::int64_t job_id)
{
    if (memory::is_loaded() && has_workers_here())
        own_notes().void_jobs.add(job_id);
}

void watch_offers()
{
    ::RegisterXactCallback(hipq_offers_transaction_ends, nullptr);
    ::RegisterSubXactCallback(hipq_offers_subtransaction_ends, nullptr);
}

}  // namespace hipq::workers
