// Puts jobs back into their lane.
//
// A job is noted in its lane before it is given back; otherwise no process could find it in
// between.
#include "shared/executors/put_off.hpp"

#include "core/lanes/job_table.hpp"
#include "core/lanes/pockets.hpp"
#include "pg/clock.hpp"
#include "shared/executors/freed_capacity.hpp"
#include "shared/executors/own_executor.hpp"
#include "shared/lanes/capacity.hpp"
#include "shared/lanes/in_flight.hpp"
#include "shared/lanes/in_flight_table.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/memory/own_holder.hpp"

namespace hipq::executors {

namespace {

core::LaneKey key_of(const lanes::WaitingJob &job)
{
    return {job.due.value, job.id};
}

// Gives a job back after `note` has noted it in its lane. Cannot fail.
template <class Note>
void give_back(const lanes::WaitingJob &job, const Note &note)
{
    core::FreedCapacity freed{};
    {
        const lanes::InFlightLock lock(LW_EXCLUSIVE);
        core::JobTable table = lanes::jobs_in_flight();
        const std::int32_t entry = table.find(MyDatabaseId, job.id);
        if (entry == core::no_entry || table[entry].holder != memory::own_holder())
            return;
        if (job.lane.is_known() && !note())
            lanes::lose_lanes(MyDatabaseId);
        table.erase(entry);
        freed = table.take_freed_capacity();
    }
    if (freed.any)
        announce_freed_capacity(freed, MyDatabaseId, own_ticket().role);
}

}  // namespace

void put_off(const lanes::WaitingJob &job, pg::Time not_before)
{
    give_back(job, [&] {
        return lanes::note_lane(job.lane, {key_of(job), key_of(job)}, not_before);
    });
}

void put_off_full(const lanes::WaitingJob &job, std::uint64_t type, pg::Time not_before)
{
    const core::KeyRange row{key_of(job), key_of(job)};
    give_back(job, [&] {
        return lanes::park_key(job.lane, row, job.key, not_before) ||
               lanes::note_lane(job.lane, row, pg::now() + core::crowded_hold);
    });
    lanes::stands_full(job.queue_id, type, job.key);
}

void put_back(const lanes::WaitingJob &job)
{
    put_off(job, pg::Time{core::lane_start.time});
}

}  // namespace hipq::executors
