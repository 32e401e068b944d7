// Places structs of fixed size in the shared segment, for the rooms that keep them there.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "storage/shmem.h"
}

namespace hipq::memory {

// Finds the struct of that name, or makes it with all its bytes 0; under AddinShmemInitLock, in a
// segment in which RequestAddinShmemSpace() has asked for its room. PostgreSQL regime.
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

// What another process may be changing right now: for who needs no more than a hint, and asks under
// the lock before it acts.
template <class T>
T glance(const T &value)
{
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::int64_t));
    return *const_cast<const volatile T *>(&value);
}

}  // namespace hipq::memory
