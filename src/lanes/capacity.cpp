// Takes and asks for capacity under limits.
//
// The gauges of the table of jobs in hand, under the registry's lock.
#include "capacity.hpp"

#include "lanes/lane_table.hpp"
#include "memory/memory.hpp"

namespace hipq::lanes {

namespace {

bool is_awaited(const core::GaugeName &name)
{
    const memory::Lock lock(LW_SHARED);
    return memory::jobs_in_hand().gauges().is_awaited(name);
}

}  // namespace

std::vector<core::Room> take_room(std::span<const Claimant> jobs, const core::WeightLimits &limits)
{
    std::vector<core::Room> rooms(jobs.size());  // before the lock: allocation
    std::size_t count = 0;
    {
        const memory::Lock lock(LW_EXCLUSIVE);
        core::JobTable table = memory::jobs_in_hand();
        for (const Claimant &job : jobs) {
            const std::int32_t entry = table.find(MyDatabaseId, job.job_id);
            if (entry == core::no_entry || table[entry].holder != memory::own_holder())
                break;
            rooms[count] = table.take_room(entry, job.load, limits);
            const core::Room room = rooms[count++];
            if (room == core::Room::queue_full || room == core::Room::type_full)
                break;
        }
    }
    rooms.resize(count);
    return rooms;
}

bool has_key_room(int queue_id, const core::Load &load, core::Weight limit)
{
    const memory::Lock lock(LW_EXCLUSIVE);
    return memory::jobs_in_hand().gauges().admits({MyDatabaseId, queue_id, load.type, load.key},
                                                  load.weight, limit);
}

bool waits_for_room(int queue_id, std::uint64_t type, std::uint64_t key)
{
    return is_awaited({MyDatabaseId, queue_id, type, key});
}

void stands_full(int queue_id, std::uint64_t type, std::uint64_t key)
{
    if (!waits_for_room(queue_id, type, key))
        make_room({MyDatabaseId, queue_id, type, key});
}

bool waits_for_room(int queue_id)
{
    return is_awaited({MyDatabaseId, queue_id, 0, 0});
}

bool waits_for_room(int queue_id, std::uint64_t type)
{
    return is_awaited({MyDatabaseId, queue_id, type, 0});
}

bool forget_waiting_for_room()
{
    bool any = false;
    {
        const memory::Lock lock(LW_EXCLUSIVE);
        any = memory::jobs_in_hand().gauges().forget_waiting(MyDatabaseId);
    }
    if (any)
        make_room({MyDatabaseId, 0, 0, 0});
    return any;
}

std::vector<core::Gauge> list_gauges()
{
    std::vector<core::Gauge> result;
    if (!memory::is_loaded())
        return result;
    result.reserve(memory::jobs_in_hand().gauges().capacity());  // before the lock: allocation
    const memory::Lock lock(LW_SHARED);
    for (const core::Gauge &gauge : memory::jobs_in_hand().gauges().all())
        if (gauge.jobs > 0 && gauge.name.database == MyDatabaseId)
            result.push_back(gauge);
    return result;
}

}  // namespace hipq::lanes
