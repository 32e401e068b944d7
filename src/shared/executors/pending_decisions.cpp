// Keeps the list of pending retry decisions, and of queues whose dead letters must be handled.
#include "shared/executors/pending_decisions.hpp"

#include "core/limits/fair_quota.hpp"
#include "settings.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/memory/registry.hpp"
#include "shared/memory/shared_struct.hpp"
#include "shared/memory/tranche.hpp"
#include "shared/memory/transaction_notes.hpp"

namespace hipq::executors {

namespace {

constexpr int max_decisions = 256;
struct Decisions {
    int count;  // number of entries in use
    Decision entries[max_decisions];
};
constinit Decisions *decision_list = nullptr;
constinit memory::Tranche decision_tranche{"HipqDecisions", memory::LockRank::decisions};

std::span<Decision> decision_entries()
{
    return decision_list->entries;
}

bool is_for(const Decision &entry, Oid database, Oid role)
{
    return entry.job_id != 0 && entry.database == database && entry.role == role;
}

std::optional<Decision> take(Oid database, Oid role, bool is_dead_letter)
{
    if (memory::glance(decision_list->count) == 0)
        return std::nullopt;
    const memory::TrancheLock lock(decision_tranche, LW_EXCLUSIVE);
    for (Decision &entry : decision_entries()) {
        if (!is_for(entry, database, role) || entry.is_dead_letter != is_dead_letter)
            continue;
        --decision_list->count;
        return std::exchange(entry, Decision{});
    }
    return std::nullopt;
}

// ---- the notes of the current transaction ----

constinit memory::TransactionNotes<Decision> *notes =
    nullptr;  // on the heap, so that no destructor runs at exit

void offer_all()
{
    bool has_capacity = true;
    notes->carry_out(
        [&](const Decision &decision) { has_capacity = offer_decision(decision) && has_capacity; });
    if (!has_capacity)
        databases::jobs_restored(MyDatabaseId);  // the search after a restore also finds rows in
                                                 // `error` that no process has in flight
    databases::look_due(MyDatabaseId, pg::Time{0});  // each look checks for owners with decisions
}

extern "C" void hipq_deciding_transaction_ends(XactEvent event, void *)
{
    if (notes != nullptr && (event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE))
        notes->forget();
}

// Runs after the commit callbacks, because by then the worker that had the job no longer holds it.
// PostgreSQL calls it for the transaction and for each resource owner below it; the first call does
// the work.
extern "C" void hipq_deciding_locks_released(ResourceReleasePhase phase, bool is_commit,
                                             bool is_top_level, void *)
{
    if (phase != RESOURCE_RELEASE_AFTER_LOCKS || !is_commit || !is_top_level || notes == nullptr ||
        notes->empty())
        return;
    offer_all();
    notes->forget();
}

extern "C" void hipq_deciding_subtransaction_ends(SubXactEvent event, SubTransactionId id,
                                                  SubTransactionId parent, void *)
{
    if (notes != nullptr)
        notes->end_subtransaction(event, id, parent);
}

}  // namespace

void note_decision(const Decision &decision)
{
    if (!memory::is_loaded())
        return;
    if (notes == nullptr)
        notes = new memory::TransactionNotes<Decision>();
    notes->add(decision);
}

void watch_decisions()
{
    ::RegisterXactCallback(hipq_deciding_transaction_ends, nullptr);
    ::RegisterResourceReleaseCallback(hipq_deciding_locks_released, nullptr);
    ::RegisterSubXactCallback(hipq_deciding_subtransaction_ends, nullptr);
}

bool offer_decision(const Decision &decision)
{
    const memory::TrancheLock lock(decision_tranche, LW_EXCLUSIVE);
    Decision *free_entry = nullptr;
    core::QuotaUse use{decision_list->count, 0};
    for (Decision &entry : decision_entries()) {
        use.own += entry.job_id != 0 && entry.role == decision.role ? 1 : 0;
        if (entry.job_id == decision.job_id && entry.database == decision.database &&
            entry.is_dead_letter == decision.is_dead_letter) {
            entry.role = decision.role;  // the queue may have a new owner
            return true;
        }
        if (entry.job_id == 0 && free_entry == nullptr)
            free_entry = &entry;
    }
    if (free_entry == nullptr ||
        !core::may_take_one(core::table_quota(max_decisions, settings::max_owner_share), use)) {
        memory::raise_alert(memory::Alert::decisions_full);
        return false;
    }
    *free_entry = decision;
    ++decision_list->count;
    return true;
}

std::optional<Decision> take_decision(Oid database, Oid role)
{
    return take(database, role, false);
}

std::optional<Decision> take_dead_letter(Oid database, Oid role)
{
    return take(database, role, true);
}

namespace {

void forget_decisions(Oid database) noexcept
{
    const memory::TrancheLock lock(decision_tranche, LW_EXCLUSIVE);
    for (Decision &entry : decision_entries()) {
        if (entry.job_id == 0 || entry.database != database)
            continue;
        entry = Decision{};
        --decision_list->count;
    }
}

void request_decisions()
{
    ::RequestAddinShmemSpace(sizeof(Decisions));
    decision_tranche.request();
}

void set_up_decisions()
{
    decision_list = memory::shared_struct<Decisions>("hipq decisions");
    decision_tranche.set_up();
}

}  // namespace

constinit const memory::Part decisions_part{request_decisions, set_up_decisions, nullptr,
                                            forget_decisions};

std::vector<Oid> roles_with_decisions(Oid database)
{
    if (memory::glance(decision_list->count) == 0)
        return {};
    std::vector<Oid> roles(max_decisions);  // allocated before the lock is taken
    std::size_t count = 0;
    {
        const memory::TrancheLock lock(decision_tranche, LW_SHARED);
        for (const Decision &entry : decision_entries())
            if (entry.job_id != 0 && entry.database == database)
                roles[count++] = entry.role;
    }
    roles.resize(count);
    std::sort(roles.begin(), roles.end());
    roles.erase(std::unique(roles.begin(), roles.end()), roles.end());
    return roles;
}

}  // namespace hipq::executors
