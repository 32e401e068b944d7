// Gives jobs to external workers: the scheduler takes them from lanes and chooses the best worker.
//
// Line by line: as many jobs as the workers of its type have room for, in one transaction; then one
// that only notifies.
//
// A database error leaves the jobs of a transaction as they were. Then they are tried one by one,
// and one that fails even so is set aside for a while that doubles.
#include "dispatch.hpp"

#include "catalog/catalog.hpp"
#include "claim/claim.hpp"
#include "core/text/names.hpp"
#include "databases/databases.hpp"
#include "execute/execute.hpp"
#include "executors/executors.hpp"
#include "limits/limits.hpp"
#include "memory/memory.hpp"
#include "pg/clock.hpp"
#include "pg/error_classes.hpp"
#include "pg/point.hpp"
#include "pg/short_text.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"
#include "workers/workers.hpp"

#include <list>

extern "C" {
#include "commands/async.h"
}

namespace hipq::external {

namespace {

using catalog::JobType;
using catalog::Queue;
using job::ClaimedJob;
using job::DueJob;
using lanes::JobInLine;
using workers::Dispatched;

constexpr std::size_t jobs_at_once = 100;

using Workers = std::span<const workers::WorkerRef>;

// ---- which lines ----

// A line, and who serves its type.
struct ServedLine {
    claim::Line line;
    Workers workers;
    std::vector<DueJob> aimed{};  // the line is of these jobs, which are for these workers alone;
                                  // none: it is a lane
};

// The lines, and what they point into.
struct Lines {
    std::shared_ptr<const catalog::Catalogue> catalogue;
    std::shared_ptr<const catalog::WorkerServices> services;
    std::list<std::vector<workers::WorkerRef>>
        named;  // of the lines of jobs that are for them alone
    std::vector<ServedLine> due;

    // Something has changed since they were found: one may be paused now. Needs a transaction.
    bool are_outdated() const { return catalog::catalogue() != catalogue; }
};

std::vector<const Queue *> open_queues(const catalog::Catalogue &catalogue)
{
    std::vector<const Queue *> queues;
    for (const auto &[id, queue] : catalogue.queues)
        if (limits::queue_gate(queue).passed)
            queues.push_back(&queue);
    return queues;
}

bool is_for_workers(const Queue &queue, const std::string &job_type)
{
    const JobType *type = queue.find_job_type(job_type);
    return type != nullptr && type->is_without_handler();
}

// Of the queues in turn, each with its jobs in order.
bool comes_before(const ServedLine &left, const ServedLine &right, int first_queue)
{
    const auto turn = [&](const ServedLine &each) {
        return std::pair(each.line.queue->id < first_queue, each.line.queue->id);
    };
    return turn(left) != turn(right) ? turn(left) < turn(right)
                                     : claim::runs_before(left.line.head, right.line.head);
}

// The lines that are due and that workers serve. `next` is when the next of the others is.
std::vector<ServedLine> due_lines(const catalog::Catalogue &catalogue,
                                  const catalog::WorkerServices &services, int first_queue,
                                  pg::Time now, pg::Time &next)
{
    std::vector<ServedLine> lines;
    for (claim::Line &line : claim::lines_of(open_queues(catalogue), now)) {
        if (!is_for_workers(*line.queue, line.head.job_type))
            continue;
        const Workers workers = services.serving(line.queue->id, line.head.job_type);
        if (workers.empty())
            continue;
        if (line.head.due > now)
            next = std::min(next, line.head.due);
        else
            lines.push_back({std::move(line), workers, {}});
    }
    std::stable_sort(lines.begin(), lines.end(),
                     [&](const ServedLine &left, const ServedLine &right) {
                         return comes_before(left, right, first_queue);
                     });
    return lines;
}

// They come before the lanes: nobody else can take them, and their time for that is short.
void add_aimed_lines(Lines &lines, std::vector<AimedLine> &aimed)
{
    std::vector<ServedLine> served;
    for (AimedLine &each : aimed) {
        const Queue *queue = lines.catalogue->find(each.queue_id);
        if (queue == nullptr || !is_for_workers(*queue, each.job_type))
            continue;
        const auto &workers = lines.named.emplace_back(
            limits::workers_named(lines.services->serving(queue->id, each.job_type), each.worker));
        const DueJob first = each.jobs.front();
        if (!workers.empty())
            served.push_back({{queue,
                               {each.job_type, each.priority, first.due, first.id},
                               lanes::no_lane,
                               InvalidOid},
                              workers,
                              std::move(each.jobs)});
    }
    lines.due.insert(lines.due.begin(), std::make_move_iterator(served.begin()),
                     std::make_move_iterator(served.end()));
}

// ---- one line, in a transaction ----

// The jobs of the hand, with what is known of them.
struct Candidates {
    std::vector<JobInLine> jobs;
    std::vector<DueJob> waiting;
};

Candidates choose_all(claim::Hand &hand)
{
    Candidates candidates{std::move(hand.jobs), {}};
    hand.jobs.clear();
    candidates.jobs.resize(lanes::choose_jobs(candidates.jobs));
    for (const JobInLine &job : candidates.jobs)
        candidates.waiting.push_back(
            {job.id, job.place, job.due, job.is_weighed, job.weight, job.key});
    return candidates;
}

// Leaves those that have room under the throttle limits; the others go back.
void leave_out_full(claim::Claimer &claimer, const Queue &queue, const JobType &type,
                    Candidates &candidates)
{
    const claim::Rooms rooms = claim::take_room(queue, type, candidates.waiting);
    Candidates kept;
    for (std::size_t i = 0; i < candidates.jobs.size(); ++i) {
        if (rooms.has(i)) {
            kept.jobs.push_back(candidates.jobs[i]);
            kept.waiting.push_back(candidates.waiting[i]);
        } else if (rooms.is_key_full(i)) {
            claim::leave_full_key(claimer, candidates.jobs[i]);
        } else {
            executors::put_back(candidates.jobs[i]);
        }
    }
    candidates = std::move(kept);
}

// Chooses a worker for one job after the other, until there is none that may be given one. From
// then on it counts the job.
std::vector<Dispatched> choose_workers(std::span<const JobInLine> jobs, Workers workers,
                                       workers::JobShares &shares)
{
    std::vector<Dispatched> chosen;
    for (const JobInLine &job : jobs) {
        const workers::ChosenWorker best = workers::choose_worker(workers, shares, job.last_worker);
        const auto choice = best.id.has_value() ? workers::note_dispatched(*best.id) : std::nullopt;
        if (!choice.has_value())
            break;
        shares.take(best.role);
        chosen.push_back({job.id, 0, choice->worker, choice->is_probe, pg::infinity, {}});
    }
    return chosen;
}

// Those that could be claimed for their workers. Raises 40001 when one of them weighs something
// else by now than it has room for: the rows are read again then.
std::vector<ClaimedJob> claim(const ServedLine &served, const Candidates &candidates,
                              std::span<const Dispatched> chosen)
{
    const Queue &queue = *served.line.queue;
    const JobType &type = *queue.find_job_type(served.line.head.job_type);
    std::vector<claim::Assignment> assignments;
    for (std::size_t i = 0; i < chosen.size(); ++i)
        assignments.push_back({chosen[i].id, candidates.waiting[i].place, chosen[i].worker.id});
    std::vector<ClaimedJob> jobs = claim::dispatch(queue, type, assignments, pg::now());
    if (limits::limits_of(queue, type).any() && !claim::weigh_the_same(jobs, candidates.waiting))
        HIPQ_RAISE(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                   errmsg("the weight of a job has changed"));
    return jobs;
}

// Leaves those that were claimed. The others go back: somebody else holds them.
void leave_out_held(claim::Claimer &claimer, const Candidates &candidates,
                    std::span<const ClaimedJob> claimed, std::vector<Dispatched> &given)
{
    const pg::Time now = pg::now();
    std::vector<Dispatched> left;
    auto next = claimed.begin();
    for (std::size_t i = 0; i < given.size(); ++i) {
        if (next != claimed.end() && next->id == given[i].id) {
            left.push_back({next->id, next->attempt, given[i].worker, given[i].is_probe,
                            job::deadline_of(*next), limits::load_of(*next)});
            claimer.held.forget(next->id);
            ++next;
            continue;
        }
        workers::note_not_given({given[i].worker, given[i].is_probe});
        executors::put_off(candidates.jobs[i], claimer.held.note(given[i].id, now));
    }
    given = std::move(left);
}

// Needs a transaction. What is given is the workers' when that has committed.
void give_away(Dispatcher &dispatcher, const ServedLine &served, std::size_t most,
               std::vector<Dispatched> &given)
{
    claim::Claimer &claimer = dispatcher.claimer;
    const claim::Line &line = served.line;
    const Queue &queue = *line.queue;
    const JobType &type = *queue.find_job_type(line.head.job_type);
    catalog::lock_or_raise(queue);
    claimer.hand = claim::Hand{queue.id, type.name, 1, {}};
    claimer.hand.paused_keys = queue.paused_keys(type.name);
    const pg::Time now = pg::now();
    const bool any = served.aimed.empty()
                         ? claim::take_jobs(claimer, line, now, most)
                         : claim::take_these(claimer, line, served.aimed, now, most);
    if (!any)
        return;
    HIPQ_POINT("before-dispatch");
    Candidates candidates = choose_all(claimer.hand);
    leave_out_full(claimer, queue, type, candidates);
    given = choose_workers(candidates.jobs, served.workers, dispatcher.shares);
    for (std::size_t i = given.size(); i < candidates.jobs.size(); ++i)
        executors::put_back(candidates.jobs[i]);
    if (given.empty())
        return;
    leave_out_held(claimer, candidates, claim(served, candidates, given), given);
    workers::begin_dispatch(given);
    execute::commit_without_waiting();  // whoever accepts the job makes that durable, and this with
                                        // it
    HIPQ_POINT("after-dispatch");
}

// ---- telling the workers ----

// Each once. A worker that hears nothing finds its jobs when it polls.
void notify(std::span<const Dispatched> given)
{
    std::set<std::int64_t> workers;
    for (const Dispatched &job : given)
        workers.insert(job.worker.id);
    pg::with_transaction([&] {
        for (const std::int64_t id : workers) {
            const std::string channel = core::worker_channel(id);
            pg::call([&] { ::Async_Notify(channel.c_str(), ""); });
        }
    });
}

void report_silence(const pg::Error &error)
{
    const std::string message = pg::short_message(error);
    pg::call([&] {
        ereport(WARNING, errcode(error.sqlerrcode()),
                errmsg("cannot notify external workers of their jobs: %s", message.c_str()),
                errhint("They find them when they poll."));
    });
}

void try_to_notify(std::span<const Dispatched> given)
{
    std::optional<pg::Error> trouble;
    try {
        notify(given);
    } catch (const pg::Error &error) {
        if (!pg::is_fault_of_job(error))
            throw;
        trouble = error;
    }
    if (trouble.has_value())
        report_silence(*trouble);
}

// ---- all of it ----

void report_trouble(const Queue &queue, std::int64_t id, const pg::Error &error)
{
    const std::string name = queue.full_name();
    const std::string message = pg::short_message(error);
    pg::call([&] {
        ereport(WARNING, errcode(error.sqlerrcode()),
                errmsg("cannot give job %lld in queue \"%s\" to a worker: %s",
                       static_cast<long long>(id), name.c_str(), message.c_str()),
                errdetail("It stays as it is, and is tried again from time to time."));
    });
}

// What one try came to.
struct Given {
    std::size_t jobs = 0;
    bool lines_are_outdated = false;
    std::optional<pg::Error> trouble{};
    std::int64_t first = 0;  // with trouble: the first of the jobs that were tried
};

Given try_to_give_away(Dispatcher &dispatcher, const Lines &lines, const ServedLine &served,
                       std::size_t most)
{
    std::vector<Dispatched> given;
    Given result;
    try {
        pg::with_transaction([&] {
            result.lines_are_outdated = lines.are_outdated();
            if (!result.lines_are_outdated)
                give_away(dispatcher, served, most, given);
        });
    } catch (const pg::Error &error) {
        workers::cancel_dispatch(given);
        lanes::release_hand();
        if (!pg::is_fault_of_job(error) || given.empty())
            throw;
        result.trouble = error;
        result.first = given.front().id;
        return result;
    }
    if (!given.empty())
        HIPQ_POINT("after-dispatch-commit");
    workers::end_dispatch(given);
    lanes::release_hand();
    if (!given.empty())
        try_to_notify(given);
    result.jobs = given.size();
    return result;
}

// The first job of a line makes trouble by itself.
void set_aside(Dispatcher &dispatcher, const Queue &queue, const Given &given)
{
    memory::raise_alert(memory::Alert::job_set_aside);
    dispatcher.claimer.held.note(given.first, pg::now());
    if (dispatcher.reported.insert(given.first).second)
        report_trouble(queue, given.first, *given.trouble);
}

// What came of a line: nothing more can be given of it now, another look at it may find more, as
// jobs were given away or one was set aside that was in the way, or all lines have to be found
// anew.
enum class Came : unsigned char { nothing, something, outdated };

Came try_line(Dispatcher &dispatcher, const Lines &lines, const ServedLine &served)
{
    const workers::RoomForJobs room = workers::room_for_jobs(served.workers, dispatcher.shares);
    if (room.shared <= 0) {  // whoever makes room asks for a dispatch
        if (room.wanted > 0)
            memory::raise_alert(dispatcher.shares.is_table_full() ? memory::Alert::jobs_in_hand_full
                                                                  : memory::Alert::worker_quota);
        return Came::nothing;
    }
    const auto most = static_cast<std::size_t>(std::min<std::int64_t>(room.shared, jobs_at_once));
    Given given = try_to_give_away(dispatcher, lines, served, most);
    if (given.trouble.has_value() && most > 1)
        given = try_to_give_away(dispatcher, lines, served, 1);
    if (given.lines_are_outdated)
        return Came::outdated;
    if (given.trouble.has_value())
        set_aside(dispatcher, *served.line.queue, given);
    return given.jobs > 0 || given.trouble.has_value() ? Came::something : Came::nothing;
}

Came dispatch_line(Dispatcher &dispatcher, const Lines &lines, const ServedLine &served)
{
    Came came = Came::nothing;
    process::do_duty(core::Duty::dispatch, served.line.queue,
                     [&] { came = try_line(dispatcher, lines, served); });
    return came;
}

Lines find_lines(Dispatcher &dispatcher, pg::Time &next)
{
    Lines lines;
    std::vector<AimedLine> aimed = look_at_aims(dispatcher.aims, next);
    if (!workers::has_workers_here())
        return lines;
    process::do_duty(core::Duty::dispatch, nullptr, [&] {
        pg::with_transaction([&] {
            lines.catalogue = catalog::catalogue();
            lines.services = catalog::worker_services();
            lines.due = due_lines(*lines.catalogue, *lines.services, dispatcher.first_queue,
                                  pg::now(), next);
            add_aimed_lines(lines, aimed);
        });
    });
    return lines;
}

// Once through all lines. Returns whether it is worth going through them again.
bool go_through(Dispatcher &dispatcher, pg::Time &next)
{
    const Lines lines = find_lines(dispatcher, next);
    if (!lines.due.empty())
        dispatcher.shares = workers::JobShares();
    bool any = false;
    for (const ServedLine &served : lines.due) {
        process::check_interrupts();
        const Came came = dispatch_line(dispatcher, lines, served);
        if (came == Came::outdated)
            return true;
        any = any || came == Came::something;
    }
    const auto first = std::ranges::find_if(
        lines.due, [](const ServedLine &served) { return served.aimed.empty(); });
    if (first != lines.due.end())
        dispatcher.first_queue = first->line.queue->id + 1;
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
    return std::min({next, dispatcher.claimer.next_due, dispatcher.claimer.held.next_try(start)});
}

}  // namespace hipq::external
