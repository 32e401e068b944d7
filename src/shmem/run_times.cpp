// The table of run times: by a hash of database, queue and type. Two types that share a hash share an average, which is harmless.
#include "run_times.hpp"

#include "core/claiming.hpp"

extern "C" {
#include "common/hashfn.h"
}

namespace hipq::shmem {

namespace {

// A type is looked for in this many neighbouring places.
constexpr std::size_t neighbours = 8;

std::uint64_t key_of(int queue_id, std::string_view job_type)
{
    const std::uint64_t seed = (std::uint64_t{MyDatabaseId} << 32) | static_cast<std::uint32_t>(queue_id);
    const std::uint64_t key =
        ::hash_bytes_extended(reinterpret_cast<const unsigned char *>(job_type.data()), static_cast<int>(job_type.size()), seed);
    return key == 0 ? 1 : key;
}

// The place of a key: its own, else a free one, else, for writing, that of a neighbour. Needs the lock.
RunTime *place_of(std::uint64_t key, bool for_writing)
{
    RunTime *free_place = nullptr;
    for (std::size_t i = 0; i < neighbours; ++i) {
        RunTime &place = registry()->run_times[(key + i) % max_run_times];
        if (place.key == key)
            return &place;
        if (place.key == 0 && free_place == nullptr)
            free_place = &place;
    }
    if (!for_writing)
        return nullptr;
    return free_place != nullptr ? free_place : &registry()->run_times[key % max_run_times];
}

}  // namespace

std::optional<std::int64_t> run_time(int queue_id, std::string_view job_type)
{
    const std::uint64_t key = key_of(queue_id, job_type);
    const Lock lock(LW_SHARED);
    const RunTime *place = place_of(key, false);
    return place == nullptr ? std::nullopt : std::optional(place->average);
}

void note_run_time(int queue_id, std::string_view job_type, std::int64_t microseconds)
{
    const std::uint64_t key = key_of(queue_id, job_type);
    const Lock lock(LW_EXCLUSIVE);
    RunTime *place = place_of(key, true);
    const bool is_new = place->key != key;
    place->key = key;
    place->average = core::average_run_time(is_new ? std::nullopt : std::optional(place->average), microseconds);
}

}  // namespace hipq::shmem
