// Looks at one queue for the scheduler: expires jobs, and counts the executors that its owner
// should have.
//
// The lanes in shared memory say what is due in a queue; the tables say when the first jobs of a
// lane are due.
#include "server/queue_look.hpp"

#include "catalog/cache.hpp"
#include "catalog/handler.hpp"
#include "catalog/queue_lock.hpp"
#include "catalog/unregistered_types.hpp"
#include "claim/claim.hpp"
#include "claim/conditions.hpp"
#include "job/dead_letter_rows.hpp"
#include "job/finish.hpp"
#include "pg/point.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"
#include "recovery/recovery.hpp"
#include "settings.hpp"
#include "shared/executors/pending_decisions.hpp"
#include "shared/executors/start_failures.hpp"
#include "shared/lanes/in_flight.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::server {

namespace {

using catalog::Queue;
using core::Duty;

constexpr int expire_at_once = 1'000;

void report_parked(QueueLooks &looks, const Queue &queue, const std::string &job_type,
                   const claim::Condition &condition)
{
    if (!looks.reported.insert(queue.full_name() + "/" + job_type).second)
        return;
    const std::string name = queue.full_name();
    const std::string explanation = claim::explain(condition);
    pg::call([&] {
        ereport(WARNING,
                errmsg("jobs of type \"%s\" in queue \"%s\" wait for their handler",
                       job_type.c_str(), name.c_str()),
                errdetail_internal("%s", explanation.c_str()));
    });
}

void report_unhandled(QueueLooks &looks, const Queue &queue, const std::string &problem)
{
    const std::string name = queue.full_name();
    if (!looks.reported.insert(name + "/dead letters: " + problem).second)
        return;
    pg::call([&] {
        ereport(WARNING,
                errmsg("dead letters of queue \"%s\" wait for their handler", name.c_str()),
                errdetail_internal("%s", problem.c_str()));
    });
}

void report_unserved(QueueLooks &looks, const Queue &queue, const std::string &job_type,
                     const claim::Condition &condition)
{
    memory::raise_alert(memory::Alert::no_worker);
    if (!looks.reported.insert(queue.full_name() + "/" + job_type + ": no worker").second)
        return;
    const std::string name = queue.full_name();
    const std::string explanation = claim::explain(condition);
    pg::call([&] {
        ereport(WARNING,
                errmsg("jobs of type \"%s\" in queue \"%s\" wait for an external worker",
                       job_type.c_str(), name.c_str()),
                errdetail_internal("%s", explanation.c_str()));
    });
}

// Handles jobs that dispatch() has left in the lane.
void look_at_unserved(QueueLooks &looks, QueueFindings &look, const Queue &queue,
                      const std::string &job_type)
{
    const claim::Service service = claim::service_of(queue.id, job_type);
    if (service.able == 0)
        report_unserved(looks, queue, job_type, claim::worker_condition(queue, job_type));
    else
        looks.reported.erase(queue.full_name() + "/" + job_type + ": no worker");
    look.again_at(look.now + process::longest_wait);
}

// Handles jobs that are due, counted only as far as it matters.
void look_at_due(QueueLooks &looks, QueueFindings &look, const Queue &queue,
                 const std::string &job_type, int count, bool owner_can_run)
{
    if (queue.find_pause(job_type) != nullptr)
        return;  // hipq.resume() requests a look
    const catalog::JobType *type = queue.find_job_type(job_type);
    if (type != nullptr && claim::runs_outside(queue, *type)) {
        look_at_unserved(looks, look, queue, job_type);
        return;
    }
    const claim::Condition condition = claim::handler_condition(queue, job_type);
    if (!condition.passed())
        report_parked(looks, queue, job_type, condition);
    if (!condition.passed() || type == nullptr || !owner_can_run ||
        !claim::capacity_condition(queue, job_type).passed()) {
        look.again_at(look.now + process::longest_wait);
        return;
    }
    const claim::TurnLook next = claim::look_at_turn(queue, *type, look.now);
    if (next.turn > look.now)
        look.again_at(std::max(next.turn, look.now + claim::turn_delay));
    else
        look.executors += static_cast<int>(next.most(static_cast<std::size_t>(count)));
}

// No process takes its jobs, so no process reads its lane.
bool is_left_alone(const Queue &queue, const std::string &job_type)
{
    const catalog::JobType *type = queue.find_job_type(job_type);
    if (type != nullptr && claim::runs_outside(queue, *type))
        return claim::service_of(queue.id, job_type).able == 0;
    return !claim::handler_condition(queue, job_type).passed();
}

// Gives back what this process has taken, also after an error.
struct Returning {
    Returning() = default;
    ~Returning() { lanes::release_prefetched(); }
    Returning(const Returning &) = delete;
    Returning &operator=(const Returning &) = delete;
};

// Returned jobs are noted one by one in the lane, and stay noted when they are gone, until a
// process reads the lane. Reads it up to the first job that exists.
void forget_what_is_gone(const Queue &queue, const lanes::LaneInfo &lane, pg::Time now)
{
    claim::Claimer claimer;
    claimer.prefetched = claim::Prefetched{queue.id, lane.name.type, 1, {}};
    const Returning returning;
    (void)claim::take_jobs(claimer,
                           {&queue,
                            {lane.name.type, lane.name.priority, lane.due, lane.first_id},
                            lane.ref,
                            lane.name.leaf},
                           now, 1);
}

core::Lane::Places places_of(const Queue &queue, const lanes::LaneInfo &lane, pg::Time now)
{
    const core::Lane::Places places = lanes::places_of(lane.ref, now);
    if (places.single_keys == 0 || queue.find_pause(lane.name.type) != nullptr ||
        !is_left_alone(queue, lane.name.type))
        return places;
    forget_what_is_gone(queue, lane, now);
    return lanes::places_of(lane.ref, now);
}

// Returns when the first jobs of a lane from a key on are due.
std::vector<pg::Time> due_times(const QueueFindings &look, const Queue &queue,
                                const lanes::LaneInfo &lane, core::LaneKey from)
{
    if (from == core::lane_end)
        return {};
    return claim::first_due_times(queue, lane.name.type, lane.name.priority, from, look.now,
                                  std::max(1, settings::max_executors));
}

// A lane may have fewer jobs than it seems to: noted jobs may be gone.
void look_at_lane(QueueLooks &looks, QueueFindings &look, const Queue &queue,
                  const lanes::LaneInfo &lane, bool owner_can_run)
{
    const std::string job_type = lane.name.type;
    const core::Lane::Places places = places_of(queue, lane, look.now);
    const std::vector<pg::Time> times = due_times(look, queue, lane, places.from);
    look.has_parked_keys = look.has_parked_keys || places.parked_keys > 0;
    if (places.next_key_due != core::lane_limit)
        look.again_at(pg::Time{places.next_key_due});
    const auto due = static_cast<int>(places.single_keys) +
                     static_cast<int>(std::count_if(times.begin(), times.end(), [&](pg::Time time) {
                         return time <= look.now;
                     }));
    if (due > 0 || !times.empty())
        catalog::register_unknown_type(queue, job_type, looks.time_zone);
    if (due == 0 && !times.empty())
        look.again_at(times.front());
    else if (due > 0 && lane.due > look.now)  // put off: another session holds them
        look.again_at(lane.due);
    else if (due > 0) {
        look_at_due(looks, look, queue, job_type, due, owner_can_run);
        look.lanes.push_back(lane.ref);
    }
}

void look_at_lanes(QueueLooks &looks, QueueFindings &look, const Queue &queue, bool owner_can_run)
{
    const Oid leaf = catalog::live_leaf(queue);
    for (const lanes::LaneInfo &lane : lanes::lanes_of_queue(queue.id))
        if (lane.name.leaf == leaf)
            look_at_lane(looks, look, queue, lane, owner_can_run);
        else
            lanes::remove_lane(lane.ref);  // another table has been put in its place
}

// If there is no room for a lane, its jobs are looked for in the table each time.
void look_at_head(QueueLooks &looks, QueueFindings &look, const Queue &queue,
                  const claim::LaneHead &head, bool owner_can_run)
{
    const lanes::LaneName name(catalog::live_leaf(queue), queue.id, head.priority, head.job_type);
    if (const lanes::LaneRef lane = lanes::find_or_make_lane(name, queue.owner); lane.is_known()) {
        lanes::show_lane(lane);
        return;
    }
    looks.lane_search.note_missing(queue.id);
    catalog::register_unknown_type(queue, head.job_type, looks.time_zone);
    if (head.due > look.now)
        look.again_at(head.due);
    else
        look_at_due(looks, look, queue, head.job_type, 1, owner_can_run);
}

void look_at_heads(QueueLooks &looks, QueueFindings &look, const Queue &queue, bool owner_can_run)
{
    constexpr std::int64_t search_interval = 300'000;
    for (const claim::LaneHead &head : looks.lane_search.next_heads(queue, look.now))
        look_at_head(looks, look, queue, head, owner_can_run);
    if (looks.lane_search.end_heads(queue.id))
        look.again_at(look.now + search_interval);
}

// One offer for the queue is enough, because an executor handles all its dead letters.
void offer_dead_letters(QueueLooks &looks, QueueFindings &look, const Queue &queue)
{
    const job::AwaitingLetters letters = job::letters_to_handle(queue, look.now);
    // Other sessions hold those that are due.
    look.again_at(letters.next_retry > look.now ? letters.next_retry
                                                : look.now + process::longest_wait);
    if (!letters.any)
        return;
    std::string problem;
    if (!catalog::resolve_dead_letter_handler(queue, &problem).has_value())
        report_unhandled(looks, queue, problem);
    else if (letters.any_free)
        executors::offer_decision({MyDatabaseId, queue.owner, queue.id, queue.id, true});
    look.again_at(look.now + process::longest_wait);
}

// Returns when the first job of the queue expires. Needs a transaction.
pg::Time look_at_lane(QueueLooks &looks, QueueFindings &look, const Queue &queue)
{
    catalog::lock_or_raise(queue);
    HIPQ_POINT("before-expire");
    const pg::Time expiry = job::next_expiry(queue);
    HIPQ_POINT("after-expire");
    const bool owner_can_run = claim::owner_condition(queue).passed();
    executors::refuse_starts(MyDatabaseId, queue.owner, !owner_can_run);
    if (looks.lane_search.concerns(queue.id))
        look_at_heads(looks, look, queue, owner_can_run);
    look_at_lanes(looks, look, queue, owner_can_run);
    if (owner_can_run)
        offer_dead_letters(looks, look, queue);
    return expiry;
}

// Needs a transaction.
void expire(QueueFindings &look, const Queue &queue)
{
    catalog::lock_or_raise(queue);
    if (job::expire_waiting(queue, look.now, expire_at_once) == expire_at_once)
        look.again_at(look.now);
    look.again_at(job::next_expiry(queue));
}

}  // namespace

QueueFindings look_at_queue(QueueLooks &looks, pg::Time now, const Queue &queue)
{
    QueueFindings look{now};
    const bool is_done = process::do_duty(Duty::line, &queue, [&] {
        pg::with_transaction([&] { look.next_expiry = look_at_lane(looks, look, queue); });
    });
    if (!is_done)
        looks.lane_search.note_unsearched(queue.id);
    if (look.next_expiry <= now)
        process::do_duty(Duty::expiry, &queue,
                         [&] { pg::with_transaction([&] { expire(look, queue); }); });
    look.again_at(std::min(look.next_expiry > now ? look.next_expiry : pg::infinity,
                           process::next_duty(queue.id)));
    return look;
}

// The lanes of dropped queues would keep their room in shared memory forever. Lists the lanes
// first: a queue that an earlier catalogue does not know may be new, and have lanes by now.
void remove_lanes_of_dropped_queues()
{
    const std::vector<lanes::LaneInfo> known = lanes::list_lanes();
    const std::vector<memory::CrowdedQueue> crowded = lanes::crowded_queues();
    const auto catalogue = recovery::read_catalogue();
    const auto is_gone = [&](int queue_id) {
        const Queue *queue = catalogue->find(queue_id);
        return queue == nullptr || queue->is_dropped;
    };
    for (const lanes::LaneInfo &lane : known)
        if (is_gone(lane.name.queue_id))
            lanes::remove_lane(lane.ref);
    for (const memory::CrowdedQueue &queue : crowded)
        if (is_gone(queue.queue_id))
            lanes::all_lanes_found(queue);
}

}  // namespace hipq::server
