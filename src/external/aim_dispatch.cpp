// Dispatches jobs that are for one named worker: a duty of the scheduler.
//
// Each look reads all of these jobs. Looks take a tenth of the scheduler's time at most, however
// many jobs wait for workers that do not come.
#include "external/aim_dispatch.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_lock.hpp"
#include "claim/claim.hpp"
#include "claim/conditions.hpp"
#include "core/job/validate.hpp"
#include "external/give_up_waiting.hpp"
#include "job/aimed_jobs.hpp"
#include "job/finish.hpp"
#include "job/set_aside.hpp"
#include "pg/clock.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"
#include "recovery/recovery.hpp"
#include "shared/databases/own_slot.hpp"
#include "shared/workers/jobs.hpp"

namespace hipq::external {

namespace {

using catalog::Queue;
using job::AimedJob;

constexpr std::int64_t waiting_interval =
    1'000'000;  // us: usually, the event that makes room for them also requests a dispatch
constexpr std::int64_t idle_share = 10;

// The result of a look at one queue.
struct AimedJobsOfQueue {
    const Queue &queue;
    pg::Time now;
    std::vector<AimedLane> lanes{};
    std::map<std::string, std::vector<job::DueJob>> late{};  // by worker
    pg::Time next = pg::infinity;

    void again_at(pg::Time time) { next = std::min(next, time); }

    // A resume requests a new look.
    bool is_paused(const AimedJob &aimed) const
    {
        const std::vector<std::string> keys = queue.paused_keys(aimed.job_type);
        return queue.find_pause(aimed.job_type) != nullptr ||
               std::find(keys.begin(), keys.end(), aimed.throttle_key) != keys.end();
    }

    pg::Time opens(const AimedJob &aimed) const
    {
        if (aimed.time_windows == core::none_text)
            return now;
        return claim::StartWindows(queue.id, aimed.job_type, now).opens(aimed.time_windows);
    }

    void add(const AimedJob &aimed)
    {
        if (is_paused(aimed) || workers::is_with_worker(MyDatabaseId, aimed.job.id))
            return;
        if (aimed.ends <= now) {
            late[aimed.worker].push_back(aimed.job);
            again_at(now + waiting_interval);  // another session may hold its row
            return;
        }
        again_at(aimed.ends);
        if (const pg::Time start = std::max(aimed.job.due, opens(aimed)); start > now) {
            again_at(start);
            return;
        }
        again_at(now + waiting_interval);
        if (lanes.empty() || lanes.back().worker != aimed.worker ||
            lanes.back().job_type != aimed.job_type)
            lanes.push_back({queue.id, aimed.worker, aimed.job_type, aimed.priority, {}});
        lanes.back().jobs.push_back(aimed.job);
    }

    // Call in a transaction.
    void read()
    {
        catalog::lock_or_raise(queue);
        const std::set<std::int64_t> aside = job::waiting_set_aside(queue);
        for (const AimedJob &aimed : job::aimed_jobs(queue))
            if (!aside.contains(aimed.job.id))
                add(aimed);
    }

    void give_up_late() const
    {
        for (const auto &[worker, jobs] : late) {
            std::optional<job::Failure> failure;
            pg::with_transaction([&, name = claim::name_meant_by(worker)] {
                failure = recovery::expiry_of_aim(queue, name, now);
            });
            give_up(queue, jobs, *failure, now);
        }
    }
};

std::vector<int> queues_with_aimed_jobs(AimedJobs &aimed)
{
    std::vector<int> queues;
    process::do_duty(core::Duty::dispatch, nullptr, [&] {
        pg::with_transaction([&] { queues = job::queues_with_aimed_jobs(); });
    });
    aimed.any = !queues.empty();
    return queues;
}

bool may_look(const AimedJobs &aimed, unsigned count, pg::Time now, pg::Time &next)
{
    if (count != aimed.seen)
        return true;
    const bool is_due = now >= aimed.not_before || now < aimed.looked;  // or the clock was set back
    if (aimed.any && !is_due)
        next = std::min(next, aimed.not_before);
    return aimed.any && is_due;
}

void look_into(const Queue &queue, std::vector<AimedLane> &lanes, pg::Time now, pg::Time &next)
{
    AimedJobsOfQueue aimed{queue, now};
    process::do_duty(core::Duty::dispatch, &queue, [&] {
        bool is_open = false;
        pg::with_transaction([&] {
            is_open = claim::queue_condition(queue).passed();
            if (is_open)
                aimed.read();
        });
        aimed.give_up_late();
    });
    std::move(aimed.lanes.begin(), aimed.lanes.end(), std::back_inserter(lanes));
    next = std::min(next, aimed.next);
}

}  // namespace

std::vector<AimedLane> find_aimed_lanes(AimedJobs &aimed, pg::Time &next)
{
    std::vector<AimedLane> lanes;
    const pg::Time now = pg::now();
    const unsigned count = databases::count_aimed_calls();
    if (!may_look(aimed, count, now, next))
        return lanes;
    const TimestampTz start = ::GetCurrentTimestamp();
    aimed.seen = count;
    const auto catalogue = recovery::read_catalogue();
    for (const int id : queues_with_aimed_jobs(aimed))
        if (const Queue *queue = catalogue->find(id); queue != nullptr && !queue->is_dropped)
            look_into(*queue, lanes, now, next);
    aimed.looked = now;
    aimed.not_before = now + idle_share * (::GetCurrentTimestamp() - start);
    return lanes;
}

}  // namespace hipq::external
