// A small table in the registry.
#include "set_aside.hpp"

extern "C" {
#include "mb/pg_wchar.h"
}

namespace hipq::shmem {

namespace {

std::span<SetAside> entries()
{
    return registry()->set_aside;
}

SetAside *find(core::Duty duty, int queue_id)
{
    for (SetAside &entry : entries())
        if (entry.database == MyDatabaseId && entry.duty == duty && entry.queue_id == queue_id)
            return &entry;
    return nullptr;
}

SetAside *find_free()
{
    for (SetAside &entry : entries())
        if (entry.database == InvalidOid)
            return &entry;
    return nullptr;
}

}  // namespace

void note_set_aside(core::Duty duty, int queue_id, core::Trouble trouble, std::string_view error) noexcept
{
    const pg::Time now{::GetCurrentTimestamp()};
    constexpr auto room = static_cast<int>(sizeof(SetAside::error)) - 1;
    const int length = ::pg_mbcliplen(error.data(), static_cast<int>(error.size()), room);
    const Lock lock(LW_EXCLUSIVE);
    SetAside *entry = find(duty, queue_id);
    if (entry == nullptr)
        entry = find_free();
    if (entry == nullptr)
        return;
    if (entry->database == InvalidOid)
        *entry = SetAside{MyDatabaseId, queue_id, duty, trouble, 0, now, now, {}};
    entry->trouble = trouble;
    entry->last = now;
    ++entry->times;
    std::memcpy(entry->error, error.data(), static_cast<std::size_t>(length));
    entry->error[length] = '\0';
}

void clear_set_aside(core::Duty duty, int queue_id) noexcept
{
    const Lock lock(LW_EXCLUSIVE);
    if (SetAside *entry = find(duty, queue_id))
        entry->database = InvalidOid;
}

void clear_all_set_aside() noexcept
{
    const Lock lock(LW_EXCLUSIVE);
    for (SetAside &entry : entries())
        if (entry.database == MyDatabaseId)
            entry.database = InvalidOid;
}

std::vector<SetAside> list_set_aside()
{
    std::vector<SetAside> result;
    if (!is_loaded())
        return result;
    std::array<SetAside, max_set_aside> copy{};
    {
        const Lock lock(LW_SHARED);
        std::memcpy(static_cast<void *>(copy.data()), registry()->set_aside, sizeof(copy));
    }
    std::copy_if(copy.begin(), copy.end(), std::back_inserter(result),
                 [](const SetAside &entry) { return entry.database == MyDatabaseId; });
    return result;
}

}  // namespace hipq::shmem
