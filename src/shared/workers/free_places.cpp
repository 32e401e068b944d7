// Counts how many more jobs a worker may accept while several of its sessions claim at once.
#include "shared/workers/worker_table.hpp"

namespace hipq::workers {

namespace {

struct Taken {
    std::int64_t worker_id;
    std::size_t count;
    SubTransactionId subtransaction;
};
constinit std::vector<Taken> *taken = nullptr;  // on the heap, so that no destructor runs at exit

// Needs the lock.
void let_go(std::int64_t worker_id, std::size_t count)
{
    if (WorkerSlot *slot = find_slot(MyDatabaseId, worker_id))
        slot->claimed_places -= std::min(slot->claimed_places, count);
}

// Releases the places taken in that subtransaction, or all of them.
void let_go_of(std::optional<SubTransactionId> subtransaction)
{
    const auto ends = [&](const Taken &one) {
        return subtransaction.value_or(one.subtransaction) == one.subtransaction;
    };
    {
        const WorkerLock lock(LW_EXCLUSIVE);
        for (const Taken &one : *taken)
            if (ends(one))
                let_go(one.worker_id, one.count);
    }
    std::erase_if(*taken, ends);
}

bool has_taken()
{
    return taken != nullptr && !taken->empty();
}

extern "C" void hipq_places_transaction_ends(XactEvent event, void *)
{
    if (has_taken() &&
        (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE))
        let_go_of(std::nullopt);
}

extern "C" void hipq_places_subtransaction_ends(SubXactEvent event, SubTransactionId id,
                                                SubTransactionId parent, void *)
{
    if (!has_taken())
        return;
    if (event == SUBXACT_EVENT_ABORT_SUB)
        let_go_of(id);
    else if (event == SUBXACT_EVENT_COMMIT_SUB)
        for (Taken &one : *taken)
            one.subtransaction = one.subtransaction == id ? parent : one.subtransaction;
}

std::size_t own_places(std::int64_t worker_id)
{
    std::size_t count = 0;
    for (const Taken &one : *taken)
        count += one.worker_id == worker_id ? one.count : 0;
    return count;
}

}  // namespace

std::size_t take_places(std::int64_t worker_id, std::size_t count)
{
    if (taken == nullptr)
        taken = new std::vector<Taken>();
    const std::size_t own = own_places(worker_id);
    taken->reserve(taken->size() + 1);  // allocate before taking the lock
    const WorkerLock lock(LW_EXCLUSIVE);
    WorkerSlot *slot = find_slot(MyDatabaseId, worker_id);
    if (slot == nullptr)
        return 0;
    taken->push_back({worker_id, count, ::GetCurrentSubTransactionId()});
    const std::size_t before = std::exchange(slot->claimed_places, slot->claimed_places + count);
    return before - std::min(before, own);  // the slot may have been recreated since
}

void give_back_places(std::int64_t worker_id, std::size_t count) noexcept
{
    if (!has_taken() || taken->back().worker_id != worker_id)
        return;
    {
        const WorkerLock lock(LW_EXCLUSIVE);
        let_go(worker_id, count);
    }
    taken->back().count -= count;
    if (taken->back().count == 0)
        taken->pop_back();
}

void watch_worker_places()
{
    ::RegisterXactCallback(hipq_places_transaction_ends, nullptr);
    ::RegisterSubXactCallback(hipq_places_subtransaction_ends, nullptr);
}

}  // namespace hipq::workers
