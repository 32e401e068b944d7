// Keeps the average run time of the jobs of each type.
//
// Run times are stored by a hash of database, queue and type. Two types with the same hash share an
// average, which is harmless. Only a new type takes the lock; a run of a known type is recorded
// without it.
#include "shared/lanes/run_time_table.hpp"

#include "core/lanes/run_times.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/memory/registry.hpp"
#include "shared/memory/shared_struct.hpp"
#include "shared/memory/tranche.hpp"

extern "C" {
#include "common/hashfn.h"
}

namespace hipq::lanes {

namespace {

struct RunTimeTable {
    core::RunTime places[1024];
};
constinit RunTimeTable *run_time_table = nullptr;
constinit memory::Tranche run_times_tranche{"HipqRunTimes", memory::LockRank::run_times};

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
    return core::RunTimes(run_time_table->places).find(key);
}

void note_run_time(int queue_id, Oid owner, std::string_view job_type, std::int64_t microseconds)
{
    const std::uint64_t key = key_of(queue_id, job_type);
    core::RunTimes times(run_time_table->places);
    if (times.update(key, microseconds))
        return;
    const memory::TrancheLock lock(run_times_tranche, LW_EXCLUSIVE);
    if (times.note(key, microseconds, owner))
        memory::raise_alert(memory::Alert::run_times_full);
}

namespace {

void request_run_times()
{
    ::RequestAddinShmemSpace(sizeof(RunTimeTable));
    run_times_tranche.request();
}

void set_up_run_times()
{
    run_time_table = memory::shared_struct<RunTimeTable>("hipq run times");
    run_times_tranche.set_up();
}

}  // namespace

constinit const memory::Part run_times_part{request_run_times, set_up_run_times};

}  // namespace hipq::lanes
