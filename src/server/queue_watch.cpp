// Chooses the queues of a look, and adds up the executors that their owners need.
//
// A queue is looked at when it is dirty (shared/databases/dirty_queues.hpp), when it is due (a job
// is due or expires, something is tried again), when its lanes have to be searched, and once in
// each round, whatever has happened. A queue whose jobs are known to wait for an executor need not
// be looked at after each job that is run.
#include "server/queue_watch.hpp"

#include "catalog/cache.hpp"
#include "core/process/round.hpp"
#include "job/aimed_jobs.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"
#include "settings.hpp"
#include "shared/databases/dirty_queues.hpp"
#include "shared/databases/rounds.hpp"
#include "shared/lanes/lane_entries.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::server {

namespace {

using catalog::Queue;

// The others wait for the next look, except in a search for lanes, which covers all queues.
constexpr std::size_t most_in_a_look = 500;
constexpr std::size_t most_of_a_round = 50;
constexpr std::int64_t piece_interval = 100'000;  // us

// A queue with waiting jobs is looked at again after this time at most; the more queues with
// waiting jobs there are, the later.
constexpr std::int64_t patience_of_expiring = 100'000;  // us
constexpr std::int64_t shortest_patience = 1'000'000;
constexpr std::int64_t patience_for_each = 2'000;

// A queue that the catalogue does not know is gone, or so new that this process has not heard of it
// yet.
constexpr std::int64_t look_for_unknown = 100'000;  // us

// The queue may have jobs that no lane shows: dead letters, and jobs that claimers have skipped.
bool has_hidden_jobs(const Queue &queue)
{
    return queue.handles_dead_letters() || queue.has_paused_keys();
}

std::vector<int> queues_with_aimed_jobs()
{
    std::vector<int> ids;
    process::do_duty(core::Duty::dispatch, nullptr,
                     [&] { pg::with_transaction([&] { ids = job::queues_with_aimed_jobs(); }); });
    return ids;
}

}  // namespace

void QueueWatch::look(const std::shared_ptr<const catalog::Catalogue> &catalogue, pg::Time now,
                      bool is_all)
{
    read(catalogue);
    looks_.lane_search.note_crowded();
    choose(*catalogue, now, is_all);
    const bool is_search = looks_.lane_search.concerns_all();
    looked_at_ = due_.take_due(now.value, is_search ? catalogue->queues.size() : most_in_a_look);
    with_parked_keys_.clear();
    bool any_gone = false;
    bool any_unknown = false;
    for (const int id : looked_at_) {
        process::check_interrupts();
        const Queue *queue = catalogue->find(id);
        const bool is_gone = queue == nullptr || queue->is_dropped;
        any_gone = any_gone || is_gone;
        any_unknown = any_unknown || queue == nullptr;
        if (is_gone) {
            forget(id);
            continue;
        }
        QueueFindings findings = look_at_queue(looks_, now, *queue);
        if (findings.has_parked_keys && queue->has_waits)  // not of 0.2.0
            with_parked_keys_.push_back(id);
        note(*queue, std::move(findings));
    }
    if (any_gone)
        remove_lanes_of_dropped_queues();
    looks_.lane_search.end_look();
    next_look_ = lanes::search_due().has_value() ? now
                 : any_unknown                   ? now + look_for_unknown
                                                 : pg::infinity;
}

// ---- which queues ----

void QueueWatch::read(const std::shared_ptr<const catalog::Catalogue> &catalogue)
{
    if (catalogue_ == catalogue)
        return;
    search_new_queues(*catalogue);
    catalogue_ = catalogue;
    hidden_.clear();
    owners_.clear();
    for (const auto &[id, queue] : catalogue->queues) {
        if (queue.is_dropped)
            continue;
        owners_.insert(queue.owner);
        if (has_hidden_jobs(queue))
            hidden_.push_back(id);
    }
}

// The creator of a queue may have enqueued jobs before this process knew of the queue: a lane of it
// was taken for that of a dropped queue, or a search for lanes has skipped it.
void QueueWatch::search_new_queues(const catalog::Catalogue &catalogue) const
{
    if (catalogue_ == nullptr)
        return;
    for (const auto &[id, queue] : catalogue.queues)
        if (!catalogue_->queues.contains(id) && !queue.is_dropped)
            lanes::search_lanes(MyDatabaseId, id);
}

void QueueWatch::choose(const catalog::Catalogue &catalogue, pg::Time now, bool is_all)
{
    const core::DirtyQueues dirty = databases::take_dirty(dirty_seen_);
    for (const int id : dirty.queues)
        if (!can_wait(id, now))
            due_.set(id, 0);
    for (const memory::CrowdedQueue &queue : lanes::crowded_queues())
        due_.set(queue.queue_id, 0);
    if (looks_.lane_search.concerns_all())
        for (const auto &entry : catalogue.queues)
            due_.set(entry.first, 0);
    else if (is_all || dirty.is_all)
        add_queues_with_something();
    go_round(catalogue, now);
}

// Includes owners that no longer need executors, so that this is passed on too.
void QueueWatch::add_queues_with_something()
{
    for (const Oid owner : owners_)
        wanted_.try_emplace(owner);
    for (const int id : lanes::queues_with_lanes())
        due_.set(id, 0);
    for (const auto &entry : demands_)
        due_.set(entry.first, 0);
    for (const int id : hidden_)
        due_.set(id, 0);
    for (const int id : queues_with_aimed_jobs())
        due_.set(id, 0);
}

// Does the next part of the current round, or begins one.
void QueueWatch::go_round(const catalog::Catalogue &catalogue, pg::Time now)
{
    next_piece_ = pg::infinity;
    if (round_ == 0 &&
        !core::is_round_due(catalogue.queues.size(), databases::last_round().value, now.value))
        return;
    auto queue = catalogue.queues.lower_bound(round_);
    for (std::size_t count = 0; count < most_of_a_round && queue != catalogue.queues.end();
         ++count, ++queue)
        due_.bring_forward(queue->first, now.value);
    round_ = queue == catalogue.queues.end() ? 0 : queue->first;
    if (round_ == 0)
        databases::round_done(now);
    else
        next_piece_ = now + piece_interval;
}

// Returns whether a look at a dirty queue would find nothing new: its jobs wait for executors, and
// some of them still do. The queue is in the heap.
bool QueueWatch::can_wait(int queue_id, pg::Time now) const
{
    const auto demand = demands_.find(queue_id);
    if (demand == demands_.end())
        return false;
    const Demand &known = demand->second;
    return known.looked <= now && now < known.looked + patience(known) &&
           std::any_of(known.lanes.begin(), known.lanes.end(), [&](lanes::LaneRef lane) {
               return lane.is_known() && lanes::due_of(lane) <= now;
           });
}

std::int64_t QueueWatch::patience(const Demand &demand) const
{
    if (demand.expires)
        return patience_of_expiring;
    return std::clamp(static_cast<std::int64_t>(demands_.size()) * patience_for_each,
                      shortest_patience, process::longest_wait);
}

// ---- results of looks ----

void QueueWatch::note(const Queue &queue, QueueFindings findings)
{
    forget_demand(queue.id);
    if (findings.executors > 0) {
        const Demand demand{queue.owner,
                            {std::min(findings.executors, settings::max_executors), queue.weight},
                            findings.now,
                            findings.next_expiry != pg::infinity,
                            std::move(findings.lanes)};
        findings.again_at(findings.now + patience(demand));
        wanted_[queue.owner].executors += demand.wanted.executors;
        wanted_[queue.owner].weight += demand.wanted.weight;
        demands_.emplace(queue.id, demand);
    }
    due_.set(queue.id, findings.next_due.value);
}

void QueueWatch::forget(int queue_id)
{
    forget_demand(queue_id);
    due_.forget(queue_id);
}

void QueueWatch::forget_demand(int queue_id)
{
    const auto demand = demands_.find(queue_id);
    if (demand == demands_.end())
        return;
    Wanted &wanted = wanted_[demand->second.owner];
    wanted.executors -= demand->second.wanted.executors;
    wanted.weight -= demand->second.wanted.weight;
    demands_.erase(demand);
}

std::set<Oid> QueueWatch::owners_with_due_jobs() const
{
    std::set<Oid> owners;
    for (const auto &[owner, wanted] : wanted_)
        if (wanted.executors > 0)
            owners.insert(owner);
    return owners;
}

void QueueWatch::forget_content_owners()
{
    std::erase_if(wanted_, [](const auto &entry) { return entry.second.executors == 0; });
}

}  // namespace hipq::server
