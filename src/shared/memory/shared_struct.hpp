// Places structs of fixed size in the shared segment.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "storage/shmem.h"
}

namespace hipq::memory {

// Attaches to the struct of that name, or creates it zeroed. The caller holds AddinShmemInitLock
// and has requested the memory by RequestAddinShmemSpace(). Call inside pg::call() or in a C frame
// only.
template <class T>
T *shared_struct(const char *name)
{
    static_assert(std::is_trivially_copyable_v<T>);
    bool found = false;
    void *place = ::ShmemInitStruct(name, sizeof(T), &found);
    if (!found)
        std::memset(place, 0, sizeof(T));
    return static_cast<T *>(place);
}

// Reads a value without its lock, although another process may be changing it. Use the result only
// as a hint, and check again under the lock before acting on it.
template <class T>
T glance(const T &value)
{
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::int64_t));
    return *const_cast<const volatile T *>(&value);
}

}  // namespace hipq::memory
