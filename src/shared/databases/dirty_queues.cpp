// Keeps the set of dirty queues of all databases in shared memory.
#include "shared/databases/dirty_queues.hpp"

#include "pg/clock.hpp"
#include "shared/databases/database_slots.hpp"

namespace hipq::databases {

namespace {

// 64 kB. If all databases together have more dirty queues, every scheduler looks at all its queues.
using Set = core::DirtySet<8'192>;

constinit Set *dirty = nullptr;

void request_set()
{
    ::RequestAddinShmemSpace(sizeof(Set));
}

void set_up_set()
{
    bool found = false;
    dirty = static_cast<Set *>(::ShmemInitStruct("hipq dirty queues", sizeof(Set), &found));
    if (!found)
        std::memset(static_cast<void *>(dirty), 0, sizeof(Set));
}

void forget_queues(Oid database) noexcept
{
    dirty->forget(database);
}

}  // namespace

void note_dirty(Oid database, int queue_id) noexcept
{
    if (dirty != nullptr && OidIsValid(database))
        dirty->add(database, queue_id);
}

void note_all_dirty(Oid database) noexcept
{
    note_dirty(database, 0);
}

void work_due(Oid database, pg::Time due) noexcept
{
    if (memory::is_loaded() && due <= pg::now())
        note_all_dirty(database);
    look_due(database, due);
}

core::DirtyQueues take_dirty(std::uint64_t &seen)
{
    return dirty->take(MyDatabaseId, seen);
}

constinit const memory::Part dirty_queues_part{request_set, set_up_set, nullptr, forget_queues};

}  // namespace hipq::databases
