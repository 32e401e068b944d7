// Offers jobs to external workers: the scheduler takes them from lanes and chooses the best worker.
//
// It goes lane by lane: one transaction, which only reads, offers as many jobs as the workers of
// the type have capacity for; the next one notifies. The worker writes the rows when it accepts.
//
// A database error leaves the jobs in their lane. Then they are tried one by one, and a job that
// fails by itself is set aside for a time that doubles.
#include "external/external.hpp"

#include "catalog/cache.hpp"
#include "catalog/queue_lock.hpp"
#include "catalog/worker_rows.hpp"
#include "claim/claim.hpp"
#include "claim/conditions.hpp"
#include "external/aim_dispatch.hpp"
#include "external/attempt_rows.hpp"
#include "external/notify_workers.hpp"
#include "job/claimed_job.hpp"
#include "pg/clock.hpp"
#include "pg/error_classes.hpp"
#include "pg/point.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"
#include "settings.hpp"
#include "shared/lanes/in_flight.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/workers/offers.hpp"
#include "shared/workers/registered.hpp"

#include <list>

namespace hipq::external {

namespace {

using catalog::JobType;
using catalog::Queue;
using job::ClaimedJob;
using job::DueJob;
using lanes::WaitingJob;
using workers::NewOffer;

constexpr std::size_t most_jobs_to_offer = 500;

using Workers = std::span<const workers::WorkerRef>;

// ---- which lanes ----

// A lane, and the workers that serve its type.
struct ServedLane {
    claim::Lane lane;
    Workers workers;
    std::vector<DueJob> aimed{};  // not empty: the lane has these jobs only, for these workers only
};

// The lanes, and the data that they refer to.
struct Lanes {
    std::shared_ptr<const catalog::Catalogue> catalogue;
    std::shared_ptr<const catalog::WorkerServices> services;
    std::list<std::vector<workers::WorkerRef>> named;  // the workers of lanes of aimed jobs
    std::vector<ServedLane> due;

    // Returns whether the catalogue has changed since the lanes were found: one may be paused now.
    // Call in a transaction.
    bool are_outdated() const { return catalog::working_catalogue() != catalogue; }
};

bool is_for_workers(const Queue &queue, const std::string &job_type)
{
    const JobType *type = queue.find_job_type(job_type);
    return type != nullptr && type->is_without_handler();
}

// Orders lanes by queues in turn, and the lanes of a queue by their first jobs.
bool comes_before(const ServedLane &left, const ServedLane &right, int first_queue)
{
    const auto turn = [&](const ServedLane &each) {
        return std::pair(each.lane.queue->id < first_queue, each.lane.queue->id);
    };
    return turn(left) != turn(right) ? turn(left) < turn(right)
                                     : claim::runs_before(left.lane.head, right.lane.head);
}

// Returns the lanes that are due and that workers serve. `next`: when the first other lane is due.
std::vector<ServedLane> due_lanes(const catalog::Catalogue &catalogue,
                                  const catalog::WorkerServices &services, int first_queue,
                                  pg::Time now, pg::Time &next)
{
    claim::DueLanes due = claim::due_lanes(
        catalogue, InvalidOid,
        [](const Queue &queue) { return claim::queue_condition(queue).passed(); }, now);
    next = std::min(next, due.next);
    std::vector<ServedLane> lanes;
    for (claim::Lane &lane : due.lanes) {
        if (!is_for_workers(*lane.queue, lane.head.job_type))
            continue;
        const Workers workers = services.serving(lane.queue->id, lane.head.job_type);
        if (!workers.empty())
            lanes.push_back({std::move(lane), workers, {}});
    }
    std::stable_sort(lanes.begin(), lanes.end(),
                     [&](const ServedLane &left, const ServedLane &right) {
                         return comes_before(left, right, first_queue);
                     });
    return lanes;
}

// Aimed jobs come before the lanes: no other worker can take them, and their time for that is
// short.
void add_aimed_lanes(Lanes &lanes, std::vector<AimedLane> &aimed)
{
    std::vector<ServedLane> served;
    for (AimedLane &each : aimed) {
        const Queue *queue = lanes.catalogue->find(each.queue_id);
        if (queue == nullptr || !is_for_workers(*queue, each.job_type))
            continue;
        const auto &workers = lanes.named.emplace_back(
            claim::workers_named(lanes.services->serving(queue->id, each.job_type), each.worker));
        const DueJob first = each.jobs.front();
        if (!workers.empty())
            served.push_back({{queue,
                               {each.job_type, each.priority, first.due, first.id},
                               lanes::no_lane,
                               InvalidOid},
                              workers,
                              std::move(each.jobs)});
    }
    lanes.due.insert(lanes.due.begin(), std::make_move_iterator(served.begin()),
                     std::make_move_iterator(served.end()));
}

// ---- one lane, in a transaction ----

// Seconds to accept a job whose row does not say it.
int seconds_to_accept(const Queue &queue, const JobType &type)
{
    return type.queue_ttl.value_or(queue.queue_ttl.value_or(settings::queue_ttl.whole_seconds()));
}

// Chooses a worker for one job after the other, until no worker may be offered one more. The worker
// counts a job from here on.
std::vector<NewOffer> choose_workers(const ServedLane &served, claim::Chosen chosen,
                                     std::span<const DueJob> jobs, workers::JobShares &shares)
{
    const Queue &queue = *served.lane.queue;
    const int seconds = seconds_to_accept(queue, *queue.find_job_type(served.lane.head.job_type));
    const pg::Time now = pg::now();
    std::vector<NewOffer> offers;
    auto waiting = chosen.begin();
    for (const DueJob &job : jobs) {
        waiting = std::find_if(waiting, chosen.end(),
                               [&](const WaitingJob &each) { return each.id == job.id; });
        const workers::ChosenWorker best =
            workers::choose_worker(served.workers, shares, waiting->last_worker);
        const auto choice = best.id.has_value() ? workers::note_dispatched(*best.id) : std::nullopt;
        if (!choice.has_value())
            break;
        shares.take(best.role);
        const int to_accept = job.next.queue_ttl > 0 ? job.next.queue_ttl : seconds;
        offers.push_back({job.id, job.next.number, *choice,
                          now + std::int64_t{to_accept} * USECS_PER_SEC, job.place});
    }
    return offers;
}

// Puts back the chosen jobs that are not offered.
void put_back_rest(Dispatcher &dispatcher, claim::Chosen chosen,
                   const claim::Capacities &capacities, std::span<const NewOffer> offers)
{
    auto next = offers.begin();
    for (std::size_t i = 0; i < chosen.size(); ++i)
        if (next != offers.end() && next->id == chosen[i].id)
            ++next;
        else
            claim::put_back(dispatcher.claimer, capacities, chosen, i);
}

// Call in a transaction. Sets the offers that are to be made, also if there is an error.
void choose_offers(Dispatcher &dispatcher, const ServedLane &served, std::size_t most,
                   std::vector<NewOffer> &offers)
{
    claim::Claimer &claimer = dispatcher.claimer;
    const claim::Lane &lane = served.lane;
    const Queue &queue = *lane.queue;
    const JobType &type = *queue.find_job_type(lane.head.job_type);
    catalog::lock_or_raise(queue);
    claimer.prefetched = claim::batch_of(queue, type, 1);
    const pg::Time now = pg::now();
    const auto next = claim::find_turn(claimer, queue, type, now);
    if (!next.has_value())
        return;
    const bool any = served.aimed.empty()
                         ? claim::take_jobs(claimer, lane, now, next->most(most))
                         : claim::take_these(claimer, lane, served.aimed, now, next->most(most));
    claim::write_leases_of_keys(claimer);
    if (!any)
        return;
    HIPQ_POINT("before-dispatch");
    const claim::Chosen chosen = claim::choose(claimer, claimer.prefetched.jobs.size());
    const claim::WithCapacity waiting = claim::take_capacity(queue, type, chosen);
    offers = choose_workers(served, chosen, waiting.jobs, dispatcher.shares);
    put_back_rest(dispatcher, chosen, waiting.capacities, offers);
    if (!offers.empty())
        HIPQ_POINT("before-offer");
}

// ---- all of it ----

// The result of one try.
struct Given {
    std::size_t jobs = 0;
    bool lanes_are_outdated = false;
    bool has_lease = false;  // under a rate: jobs may start now
    std::optional<pg::Error> trouble{};
    std::int64_t first = 0;  // if there is an error: the first of the jobs that were tried
};

// An error while the lane is read, or a weight is looked up.
Given trouble_of(const Dispatcher &dispatcher, const pg::Error &error)
{
    const std::vector<WaitingJob> &tried = dispatcher.claimer.prefetched.jobs;
    lanes::release_prefetched();
    if (!pg::is_fault_of_job(error) || tried.empty())
        throw error;  // NOLINT(cert-err60-cpp): as it came
    return {0, false, false, error, tried.front().id};
}

Given try_to_give_away(Dispatcher &dispatcher, const Lanes &lanes, const ServedLane &served,
                       std::size_t most)
{
    std::vector<NewOffer> offers;
    bool lanes_are_outdated = false;
    dispatcher.claimer.leases.forget();
    try {
        pg::with_transaction([&] {
            lanes_are_outdated = lanes.are_outdated();
            if (!lanes_are_outdated)
                choose_offers(dispatcher, served, most, offers);
        });
    } catch (const pg::Error &error) {
        workers::cancel_offers(offers);
        return trouble_of(dispatcher, error);
    }
    const bool has_lease = dispatcher.claimer.leases.publish();
    workers::offer_jobs(offers);
    lanes::release_prefetched();
    if (!offers.empty()) {
        HIPQ_POINT("after-offer");
        notify_workers(offers);
    }
    return {offers.size(), lanes_are_outdated, has_lease};
}

// The first job of a lane fails by itself.
void set_aside(Dispatcher &dispatcher, const Queue &queue, const Given &given)
{
    memory::raise_alert(memory::Alert::job_set_aside);
    dispatcher.claimer.held.note(given.first, pg::now());
    if (dispatcher.reported.insert(given.first).second)
        report_refused(queue, given.first, *given.trouble);
}

// The result of a lane. nothing: no more of its jobs can be offered now. something: another look
// may find more, because jobs were offered, or a job in the way was set aside. outdated: all
// lanes must be looked for again.
enum class Came : unsigned char { nothing, something, outdated };

Came try_lane(Dispatcher &dispatcher, const Lanes &lanes, const ServedLane &served)
{
    const workers::CapacityForJobs capacity =
        workers::capacity_for_jobs(served.workers, dispatcher.shares);
    if (capacity.shared <= 0) {  // the event that makes capacity requests a dispatch
        if (capacity.wanted > 0)
            memory::raise_alert(dispatcher.shares.is_table_full()
                                    ? memory::Alert::jobs_in_flight_full
                                    : memory::Alert::worker_quota);
        return Came::nothing;
    }
    const auto most =
        static_cast<std::size_t>(std::min<std::int64_t>(capacity.shared, most_jobs_to_offer));
    Given given = try_to_give_away(dispatcher, lanes, served, most);
    if (given.trouble.has_value() && most > 1)
        given = try_to_give_away(dispatcher, lanes, served, 1);
    if (given.lanes_are_outdated)
        return Came::outdated;
    if (given.trouble.has_value())
        set_aside(dispatcher, *served.lane.queue, given);
    return given.jobs > 0 || given.has_lease || given.trouble.has_value() ? Came::something
                                                                          : Came::nothing;
}

Came dispatch_lane(Dispatcher &dispatcher, const Lanes &lanes, const ServedLane &served)
{
    Came came = Came::nothing;
    process::do_duty(core::Duty::dispatch, served.lane.queue,
                     [&] { came = try_lane(dispatcher, lanes, served); });
    return came;
}

Lanes find_lanes(Dispatcher &dispatcher, pg::Time &next)
{
    Lanes lanes;
    std::vector<AimedLane> aimed = find_aimed_lanes(dispatcher.aimed, next);
    if (!workers::has_workers_here())
        return lanes;
    process::do_duty(core::Duty::dispatch, nullptr, [&] {
        pg::with_transaction([&] {
            lanes.catalogue = catalog::working_catalogue();
            lanes.services = catalog::worker_services();
            lanes.due = due_lanes(*lanes.catalogue, *lanes.services, dispatcher.first_queue,
                                  pg::now(), next);
            add_aimed_lanes(lanes, aimed);
        });
    });
    return lanes;
}

// Goes once through all lanes. Returns whether it is worth going through them again.
bool go_through(Dispatcher &dispatcher, pg::Time &next)
{
    dispatcher.claimer.next_turn = pg::infinity;
    const Lanes lanes = find_lanes(dispatcher, next);
    if (!lanes.due.empty())
        dispatcher.shares = workers::JobShares();
    bool any = false;
    for (const ServedLane &served : lanes.due) {
        process::check_interrupts();
        const Came came = dispatch_lane(dispatcher, lanes, served);
        if (came == Came::outdated)
            return true;
        any = any || came == Came::something;
    }
    const auto first = std::ranges::find_if(
        lanes.due, [](const ServedLane &served) { return served.aimed.empty(); });
    if (first != lanes.due.end())
        dispatcher.first_queue = first->lane.queue->id + 1;
    return any;
}

}  // namespace

pg::Time dispatch(Dispatcher &dispatcher)
{
    pg::Time next = pg::infinity;
    dispatcher.claimer.next_due = pg::infinity;
    pg::Time start{0};
    do {
        start = pg::now();
        next = pg::infinity;
    } while (go_through(dispatcher, next));
    return std::min({next, dispatcher.claimer.next_due, dispatcher.claimer.next_turn,
                     dispatcher.claimer.held.next_try(start)});
}

}  // namespace hipq::external
