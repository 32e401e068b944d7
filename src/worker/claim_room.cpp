// By the weights that were read with the line, under the registry's lock.
#include "claim_room.hpp"

#include "pg/clock.hpp"
#include "shmem/databases.hpp"
#include "shmem/put_off.hpp"
#include "shmem/room.hpp"
#include "storage/weight.hpp"
#include "worker/take_jobs.hpp"

namespace hipq::worker {

using storage::ClaimedJob;
using storage::DueJob;

bool Rooms::are_full() const
{
    return taken.size() < asked_for ||
           (!taken.empty() && (taken.back() == core::Room::queue_full || taken.back() == core::Room::type_full));
}

Rooms room_for_all(std::size_t jobs)
{
    return {std::vector(jobs, core::Room::taken), jobs};
}

Rooms take_room(const storage::Queue &queue, const storage::JobType &type, std::span<DueJob> waiting)
{
    const core::WeightLimits limits = storage::limits_of(queue, type);
    if (!limits.any())
        return room_for_all(waiting.size());
    storage::weigh(queue, waiting);
    std::vector<shmem::Claimant> claimants;
    for (const DueJob &job : waiting)  // one that is gone weighs nothing, and is not claimed
        claimants.push_back({job.id, {job.weight, core::name_hash(type.name), job.key}});
    return {shmem::take_room(claimants, limits), waiting.size()};
}

bool weigh_the_same(std::span<const ClaimedJob> claimed, std::span<const DueJob> waiting)
{
    auto before = waiting.begin();
    return std::all_of(claimed.begin(), claimed.end(), [&](const ClaimedJob &job) {
        before = std::find_if(before, waiting.end(), [&](const DueJob &each) { return each.id == job.id; });
        const core::Load load = storage::load_of(job);
        return before != waiting.end() && before->weight == load.weight && before->key == load.key;
    });
}

void leave_full_key(const Claimer &claimer, const shmem::JobInLine &job)
{
    if (job.key == 0)
        shmem::put_back(job);  // there was no limit yet when the line was read: it is read again with its weight
    else
        shmem::put_off_full(job, core::name_hash(claimer.hand.job_type), pg::now() + longest_wait_for_room);
}

void put_back_rest(Claimer &claimer, std::span<const shmem::JobInLine> jobs, const Rooms &rooms, bool any_claimed)
{
    for (std::size_t i = 0; i < jobs.size(); ++i)
        if (!rooms.has(i) && !rooms.is_key_full(i))
            shmem::put_back(jobs[i]);
    const int queue_id = claimer.hand.queue_id;
    const std::uint64_t type = core::name_hash(claimer.hand.job_type);
    give_back(claimer);
    // Whoever was told of room before they were back in the line has not seen them; and this executor may be busy now.
    if (any_claimed && !shmem::waits_for_room(queue_id) && !shmem::waits_for_room(queue_id, type))
        shmem::work_due(MyDatabaseId, pg::Time{0});
}

void give_back(Claimer &claimer)
{
    shmem::release_hand();
    claimer.hand = Hand{};
}

}  // namespace hipq::worker
