// What an executor runs next: the due lanes of its queue owner, next first.
#include "pg/clock.hpp"
#include "pg/point.hpp"
#include "pg/transaction.hpp"
#include "shmem/crash_cases.hpp"
#include "shmem/databases.hpp"
#include "shmem/run_times.hpp"
#include "storage/gates.hpp"
#include "worker/process.hpp"
#include "worker/task.hpp"

namespace hipq::worker {

namespace {

using storage::Queue;

constexpr std::size_t largest_hand = 1'000;  // a batch of the largest size fits

struct Candidate {
    const Queue *queue;
    storage::LaneHead head;
};

// The due lanes of the owner's queues whose handlers can run, next first.
std::vector<Candidate> due_lanes(const Executor &executor, const storage::Catalogue &catalogue, pg::Time now)
{
    std::vector<Candidate> candidates;
    for (const auto &[id, queue] : catalogue.queues) {
        if (queue.owner != executor.ticket.role || !storage::queue_gate(queue).passed)
            continue;
        if (!storage::owner_gate(queue).passed) {
            shmem::work_due(MyDatabaseId, now + longest_wait);  // the scheduler watches it
            continue;
        }
        for (storage::LaneHead &head : storage::lane_heads(queue, now)) {
            if (head.due > now)
                continue;
            if (storage::handler_gate(queue, head.job_type).passed)
                candidates.push_back({&queue, std::move(head)});
            else
                shmem::work_due(MyDatabaseId, now + longest_wait);  // parked: the scheduler watches it
        }
    }
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate &left, const Candidate &right) { return storage::runs_before(left.head, right.head); });
    return candidates;
}

std::size_t batch_size_of(const storage::JobType &type)
{
    return storage::takes_batches(type.handler, type.handler_kind) ? static_cast<std::size_t>(type.batch_size) : 1;
}

// Suspects of a crash run one at a time: if the first job of the line that nobody has in hand is one whose turn has come, it
// stays alone; else all stay but those.
void pass_over_suspects(std::vector<shmem::JobInLine> &line)
{
    std::set<std::int64_t> suspects;
    for (const core::CrashCase &entry : shmem::crash_cases(MyDatabaseId))
        if (entry.runs_alone != 0 || entry.charge_due != 0)
            suspects.insert(entry.job_id);
    if (suspects.empty())
        return;
    const auto is_suspect = [&](const shmem::JobInLine &job) { return suspects.contains(job.id); };
    const auto first = std::find_if(line.begin(), line.end(),
                                    [](const shmem::JobInLine &job) { return !shmem::is_in_hand(MyDatabaseId, job.id); });
    if (first != line.end() && is_suspect(*first) &&
        shmem::suspicion_of(MyDatabaseId, first->id) != shmem::Suspicion::has_to_wait)
        line = {*first};
    else
        std::erase_if(line, is_suspect);
}

// Reserves the first jobs of the lane that are free; whoever has others in hand, they are looked at first.
bool take_from(Executor &executor, const Candidate &candidate, pg::Time now)
{
    const storage::JobType &type = *candidate.queue->find_job_type(candidate.head.job_type);
    const std::size_t batch_size = batch_size_of(type);
    const std::size_t wanted = core::hand_size(shmem::run_time(candidate.queue->id, type.name), batch_size, largest_hand);
    const std::size_t passed_over = executor.held.size() + shmem::count_in_hand() + shmem::count_crash_cases();
    std::vector<shmem::JobInLine> due;
    for (const std::int64_t id : storage::due_jobs(*candidate.queue, candidate.head, now, wanted + passed_over))
        if (!executor.held.contains(id, now))
            due.push_back({id, candidate.queue->id});
    pass_over_suspects(due);
    std::vector<shmem::JobInLine> reserved(wanted);
    reserved.resize(shmem::reserve_jobs(due, reserved));
    executor.hand = Hand{candidate.queue->id, type.name, batch_size, std::move(reserved)};
    return !executor.hand.is_empty();
}

}  // namespace

bool fill_hand(Executor &executor)
{
    bool filled = false;
    pg::with_transaction([&] {
        const auto catalogue = storage::catalogue();
        const pg::Time now = pg::now();
        if (!storage::enabled_gate().passed || !storage::hold_gate().passed)
            return;
        const std::vector<Candidate> lanes = due_lanes(executor, *catalogue, now);
        filled = std::any_of(lanes.begin(), lanes.end(),
                             [&](const Candidate &candidate) { return take_from(executor, candidate, now); });
        if (filled)
            HIPQ_POINT("after-reserve");
    });
    return filled;
}

}  // namespace hipq::worker
