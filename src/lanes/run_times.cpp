// Keeps how long jobs of a type run, as an average.
//
// Run times by a hash of database, queue and type. Two types that share a hash share an average,
// which is harmless.
#include "run_times.hpp"

#include "memory/memory.hpp"

extern "C" {
#include "common/hashfn.h"
}

namespace hipq::lanes {

namespace {

std::uint64_t key_of(int queue_id, std::string_view job_type)
{
    const std::uint64_t seed =
        (std::uint64_t{MyDatabaseId} << 32) | static_cast<std::uint32_t>(queue_id);
    const std::uint64_t key =
        ::hash_bytes_extended(reinterpret_cast<const unsigned char *>(job_type.data()),
                              static_cast<int>(job_type.size()), seed);
    return key == 0 ? 1 : key;
}

}  // namespace

std::optional<std::int64_t> run_time(int queue_id, std::string_view job_type)
{
    const std::uint64_t key = key_of(queue_id, job_type);
    const memory::Lock lock(LW_SHARED);
    return core::RunTimes(memory::registry()->run_times).find(key);
}

void note_run_time(int queue_id, Oid owner, std::string_view job_type, std::int64_t microseconds)
{
    const std::uint64_t key = key_of(queue_id, job_type);
    const memory::Lock lock(LW_EXCLUSIVE);
    if (core::RunTimes(memory::registry()->run_times).note(key, microseconds, owner))
        memory::note_alert(memory::Alert::run_times_full);
}

}  // namespace hipq::lanes
