// Noted in the lane before it is given back: in between nobody could see it.
#include "put_off.hpp"

#include "shmem/freed_capacity.hpp"
#include "shmem/own_executor.hpp"
#include "shmem/own_holder.hpp"
#include "shmem/room.hpp"

namespace hipq::shmem {

namespace {

core::LaneKey key_of(const JobInLine &job)
{
    return {job.due.value, job.id};
}

// Gives back a job after it has been noted in its lane. Cannot fail.
template <class Note>
void give_back(const JobInLine &job, const Note &note)
{
    core::RoomMade room_made{};
    {
        const Lock lock(LW_EXCLUSIVE);
        core::JobTable table = jobs_in_hand();
        const std::int32_t entry = table.find(MyDatabaseId, job.id);
        if (entry == core::no_entry || table[entry].holder != own_holder())
            return;
        if (job.lane.is_known() && !note())
            lose_lanes_locked(MyDatabaseId);
        table.erase(entry);
        room_made = table.take_room_made();
    }
    if (room_made.any)
        tell_of_room(room_made, MyDatabaseId, own_ticket().role);
}

}  // namespace

void put_off(const JobInLine &job, pg::Time not_before)
{
    give_back(job, [&] { return note_lane(job.lane, {key_of(job), key_of(job)}, not_before); });
}

void put_off_full(const JobInLine &job, std::uint64_t type, pg::Time not_before)
{
    give_back(job, [&] { return note_full(job.lane, key_of(job), job.key, not_before); });
    stands_full(job.queue_id, type, job.key);
}

void put_back(const JobInLine &job)
{
    put_off(job, pg::Time{core::lane_start.time});
}

}  // namespace hipq::shmem
