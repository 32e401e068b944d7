// Keeps the list of retry decisions to be made, and of queues with dead letters to be handled.
#include "pending_decisions.hpp"

#include "core/limits/fair_quota.hpp"
#include "databases/databases.hpp"
#include "memory/memory.hpp"
#include "settings.hpp"

namespace hipq::executors {

namespace {

std::span<memory::Decision> entries()
{
    return memory::registry()->decisions;
}

bool is_for(const memory::Decision &entry, Oid database, Oid role)
{
    return entry.job_id != 0 && entry.database == database && entry.role == role;
}

std::optional<memory::Decision> take(Oid database, Oid role, bool is_dead_letter)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    if (memory::registry()->decision_count == 0)
        return std::nullopt;
    for (memory::Decision &entry : entries()) {
        if (!is_for(entry, database, role) || entry.is_dead_letter != is_dead_letter)
            continue;
        --memory::registry()->decision_count;
        return std::exchange(entry, memory::Decision{});
    }
    return std::nullopt;
}

// ---- the transaction ----

constinit memory::TransactionNotes<memory::Decision> *notes =
    nullptr;  // on the heap: no destructor at exit

void offer_all()
{
    bool has_capacity = true;
    notes->carry_out([&](const memory::Decision &decision) {
        has_capacity = offer_decision(decision) && has_capacity;
    });
    if (!has_capacity)
        databases::jobs_restored(MyDatabaseId);  // rows in `error` that nobody has in flight are
                                                 // found as those of a restore are
    databases::look_due(MyDatabaseId, pg::Time{0});  // who has decisions is asked in each look
}

extern "C" void hipq_deciding_transaction_ends(XactEvent event, void *)
{
    if (notes != nullptr && (event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE))
        notes->forget();
}

// After the callbacks for the commit: the worker that had the job has it no more by then. Called
// for the transaction and for each resource owner below it: the first call does it.
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

void note_decision(const memory::Decision &decision)
{
    if (!memory::is_loaded())
        return;
    if (notes == nullptr)
        notes = new memory::TransactionNotes<memory::Decision>();
    notes->add(decision);
}

void watch_decisions()
{
    ::RegisterXactCallback(hipq_deciding_transaction_ends, nullptr);
    ::RegisterResourceReleaseCallback(hipq_deciding_locks_released, nullptr);
    ::RegisterSubXactCallback(hipq_deciding_subtransaction_ends, nullptr);
}

bool offer_decision(const memory::Decision &decision)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::Decision *free_entry = nullptr;
    core::QuotaUse use{memory::registry()->decision_count, 0};
    for (memory::Decision &entry : entries()) {
        use.own += entry.job_id != 0 && entry.role == decision.role ? 1 : 0;
        if (entry.job_id == decision.job_id && entry.database == decision.database &&
            entry.is_dead_letter == decision.is_dead_letter) {
            entry.role = decision.role;  // the queue may have got another owner
            return true;
        }
        if (entry.job_id == 0 && free_entry == nullptr)
            free_entry = &entry;
    }
    if (free_entry == nullptr ||
        !core::may_take_one(core::table_quota(memory::max_decisions, settings::max_owner_share),
                            use)) {
        memory::note_alert(memory::Alert::decisions_full);
        return false;
    }
    *free_entry = decision;
    ++memory::registry()->decision_count;
    return true;
}

std::optional<memory::Decision> take_decision(Oid database, Oid role)
{
    return take(database, role, false);
}

std::optional<memory::Decision> take_dead_letter(Oid database, Oid role)
{
    return take(database, role, true);
}

namespace {

// Needs the lock.
void forget_decisions(Oid database) noexcept
{
    for (memory::Decision &entry : entries()) {
        if (entry.job_id == 0 || entry.database != database)
            continue;
        entry = memory::Decision{};
        --memory::registry()->decision_count;
    }
}

}  // namespace

constinit const memory::Part decisions_part{nullptr, nullptr, nullptr, forget_decisions};

std::vector<Oid> roles_with_decisions(Oid database)
{
    std::vector<Oid> roles(memory::max_decisions);  // before the lock: allocation
    std::size_t count = 0;
    {
        const memory::Lock lock(LW_SHARED);
        if (memory::registry()->decision_count > 0)
            for (const memory::Decision &entry : entries())
                if (entry.job_id != 0 && entry.database == database)
                    roles[count++] = entry.role;
    }
    roles.resize(count);
    std::sort(roles.begin(), roles.end());
    roles.erase(std::unique(roles.begin(), roles.end()), roles.end());
    return roles;
}

}  // namespace hipq::executors
