// Records which duties of schedulers are set aside, and why.
#include "shared/databases/duties_set_aside.hpp"
#include "core/process/duty.hpp"

extern "C" {
#include "mb/pg_wchar.h"
}

namespace hipq::databases {

namespace {

std::span<memory::SetAside> entries()
{
    return memory::registry()->set_aside;
}

memory::SetAside *find(core::Duty duty, int queue_id)
{
    for (memory::SetAside &entry : entries())
        if (entry.database == MyDatabaseId && entry.duty == duty && entry.queue_id == queue_id)
            return &entry;
    return nullptr;
}

memory::SetAside *find_free()
{
    for (memory::SetAside &entry : entries())
        if (entry.database == InvalidOid)
            return &entry;
    return nullptr;
}

}  // namespace

void note_set_aside(core::Duty duty, int queue_id, core::Trouble trouble,
                    std::string_view error) noexcept
{
    const pg::Time now{::GetCurrentTimestamp()};
    constexpr auto capacity = static_cast<int>(sizeof(memory::SetAside::error)) - 1;
    const int length = ::pg_mbcliplen(error.data(), static_cast<int>(error.size()), capacity);
    const memory::Lock lock(LW_EXCLUSIVE);
    memory::SetAside *entry = find(duty, queue_id);
    if (entry == nullptr)
        entry = find_free();
    if (entry == nullptr)
        return;
    if (entry->database == InvalidOid)
        *entry = memory::SetAside{MyDatabaseId, queue_id, duty, trouble, 0, now, now, {}};
    entry->trouble = trouble;
    entry->last = now;
    ++entry->times;
    std::memcpy(entry->error, error.data(), static_cast<std::size_t>(length));
    entry->error[length] = '\0';
}

void clear_set_aside(core::Duty duty, int queue_id) noexcept
{
    const memory::Lock lock(LW_EXCLUSIVE);
    if (memory::SetAside *entry = find(duty, queue_id))
        entry->database = InvalidOid;
}

void clear_all_set_aside() noexcept
{
    const memory::Lock lock(LW_EXCLUSIVE);
    for (memory::SetAside &entry : entries())
        if (entry.database == MyDatabaseId && entry.duty != core::Duty::letters)
            entry.database = InvalidOid;
}

std::vector<memory::SetAside> list_set_aside()
{
    std::vector<memory::SetAside> result;
    if (!memory::is_loaded())
        return result;
    std::array<memory::SetAside, memory::max_set_aside> copy{};
    {
        const memory::Lock lock(LW_SHARED);
        std::memcpy(static_cast<void *>(copy.data()), memory::registry()->set_aside, sizeof(copy));
    }
    std::copy_if(copy.begin(), copy.end(), std::back_inserter(result),
                 [](const memory::SetAside &entry) { return entry.database == MyDatabaseId; });
    return result;
}

}  // namespace hipq::databases
