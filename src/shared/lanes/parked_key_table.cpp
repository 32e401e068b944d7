// Keeps the table of parked keys in shared memory.
//
// The memory of an entry is not touched before its first use, so a table that is larger than needed
// costs only address space.
#include "shared/lanes/parked_key_table.hpp"

#include "settings.hpp"

namespace hipq::lanes {

namespace {

// The head. The buckets and the entries follow it.
struct ParkedKeysTable {
    core::ParkedKeysHead head;
    std::int32_t capacity;
};

constinit ParkedKeysTable *parked_keys_table = nullptr;
constinit memory::Tranche parked_keys_tranche{"HipqParkedKeys", memory::LockRank::parked_keys};

// An even number, so that the entries are aligned.
Size parked_key_capacity()
{
    return static_cast<Size>(settings::max_keys) / 2 * 2;
}

Size parked_keys_size()
{
    return ::add_size(
        sizeof(ParkedKeysTable),
        ::mul_size(sizeof(core::ParkedKey) + sizeof(std::int32_t), parked_key_capacity()));
}

void request_parked_keys()
{
    ::RequestAddinShmemSpace(parked_keys_size());
    parked_keys_tranche.request();
}

void set_up_parked_keys()
{
    bool found = false;
    parked_keys_table = static_cast<ParkedKeysTable *>(
        ::ShmemInitStruct("hipq parked keys", parked_keys_size(), &found));
    parked_keys_tranche.set_up();
    if (found)
        return;
    parked_keys_table->capacity = static_cast<std::int32_t>(parked_key_capacity());
    parked_keys().clear();
}

}  // namespace

constinit const memory::Part parked_keys_part{request_parked_keys, set_up_parked_keys};

ParkedKeysLock::ParkedKeysLock(LWLockMode mode) : TrancheLock(parked_keys_tranche, mode) {}

core::ParkedKeys parked_keys()
{
    const auto capacity = static_cast<std::size_t>(parked_keys_table->capacity);
    auto *buckets = reinterpret_cast<std::int32_t *>(parked_keys_table + 1);
    auto *entries = reinterpret_cast<core::ParkedKey *>(buckets + capacity);
    return {&parked_keys_table->head, {entries, capacity}, {buckets, capacity}};
}

}  // namespace hipq::lanes
