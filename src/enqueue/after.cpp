// Reads and checks what a new job comes after.
#include "enqueue/after.hpp"

#include "catalog/rights.hpp"
#include "core/job/validate.hpp"
#include "job/batches/batch_rows.hpp"
#include "job/find_job.hpp"
#include "pg/demand.hpp"
#include "shared/wakeup/watched_jobs.hpp"

namespace hipq::enqueue {

namespace {

pg::Argument at(int position, const char *name)
{
    return pg::Argument::later({position, name});
}

[[noreturn]] void refuse_word(const char *name, const std::string &word, const char *hint)
{
    HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
               errmsg("invalid value for %s: \"%s\"", name, word.c_str()), errhint("%s", hint));
}

core::AfterPolicy policy_of(const std::optional<std::string> &word)
{
    if (!word.has_value())
        return core::AfterPolicy::succeeded;
    if (const auto policy = core::parse_after_policy(*word))
        return *policy;
    refuse_word("after_policy", *word, "Use 'succeeded', 'finished', 'any' or 'failed'.");
}

core::OnFailure on_failure_of(const std::optional<std::string> &word)
{
    if (!word.has_value())
        return core::OnFailure::fail;
    if (const auto on_failure = core::parse_on_failure(*word))
        return *on_failure;
    refuse_word("on_failure", *word, "Use 'fail', 'skip' or 'run'.");
}

// Looks into the queue of the later job first, where jobs before it mostly are: a search of all
// queues takes milliseconds if there are hundreds.
job::FoundJob require_job_before(const catalog::Catalogue &catalogue, const catalog::Queue &queue,
                                 std::int64_t id)
{
    const auto found =
        job::find_permitted_job(catalogue, id, queue.full_name(), catalog::Privilege::read);
    return found.has_value()
               ? *found
               : job::require_job(catalogue, id, std::nullopt, catalog::Privilege::read);
}

// The queue of each job, for a caller that may read it.
std::vector<job::JobBefore> find_jobs(const catalog::Catalogue &catalogue,
                                      const catalog::Queue &queue, std::vector<std::int64_t> ids)
{
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    std::vector<job::JobBefore> jobs;
    for (const std::int64_t id : ids) {
        const job::FoundJob found = require_job_before(catalogue, queue, id);
        demand_dependencies(*found.queue);
        jobs.push_back({id, found.queue->id});
    }
    return jobs;
}

// In hipq.dependency a batch stands as a job does.
job::JobBefore batch_before(const catalog::Catalogue &catalogue, std::int64_t batch_id)
{
    (void)job::require_batch(catalogue, batch_id, catalog::Privilege::enqueue);
    return {batch_id, job::queue_of_batches};
}

// The batches that jobs directly after any of these, which are jobs or batches, belong to; and
// these jobs.
std::vector<std::int64_t> one_step_later(const catalog::Catalogue &catalogue,
                                         const std::vector<std::int64_t> &ids)
{
    constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
    std::map<int, std::vector<std::int64_t>> by_queue;
    for (const job::LaterJob &later : job::jobs_after(ids, {}, no_limit))
        by_queue[later.queue_id].push_back(later.id);
    std::vector<std::int64_t> found;
    for (const auto &[queue_id, jobs] : by_queue) {
        found.insert(found.end(), jobs.begin(), jobs.end());
        if (const catalog::Queue *queue = catalogue.find(queue_id);
            queue != nullptr && !queue->is_dropped)
            std::ranges::copy(job::batches_of(*queue, jobs), std::back_inserter(found));
    }
    return found;
}

}  // namespace

// Goes along the jobs that wait for the batch.
void demand_no_circle(const catalog::Catalogue &catalogue, std::int64_t batch_id,
                      const job::After &after)
{
    std::set<std::int64_t> later{batch_id};
    std::vector<std::int64_t> step{batch_id};
    while (!step.empty()) {
        step = one_step_later(catalogue, step);
        std::erase_if(step, [&](std::int64_t id) { return !later.insert(id).second; });
    }
    for (const job::JobBefore &before : after.jobs)
        if (later.contains(before.id))
            HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                       errmsg("a job of batch %lld cannot come after %s %lld",
                              static_cast<long long>(batch_id),
                              before.queue_id == job::queue_of_batches ? "batch" : "job",
                              static_cast<long long>(before.id)),
                       before.id == batch_id
                           ? errdetail("The batch would wait for the job, and the job for it.")
                           : errdetail("That one waits for the batch, which would wait for it."));
}

void demand_dependencies(const catalog::Queue &queue)
{
    const std::string name = queue.full_name();
    if (queue.shards != nullptr)
        HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                   errmsg("jobs of an instance with shards cannot come after others"),
                   errdetail("Queue \"%s\" is in such an instance: the jobs before could be on "
                             "another server.",
                             name.c_str()),
                   errhint("Let the handler of the job before enqueue the next one."));
    if (!queue.keeps_successes)
        HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                   errmsg("jobs of queue \"%s\" cannot come after others, nor others after them",
                          name.c_str()),
                   errdetail("The queue keeps no final jobs, so their outcomes are not known."),
                   errhint("Give it a retention: hipq.alter_queue('%s', retention => '1 minute').",
                           name.c_str()));
}

void demand_batches(const catalog::Queue &queue)
{
    const std::string name = queue.full_name();
    if (queue.shards != nullptr)
        HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                   errmsg("jobs of an instance with shards cannot belong to batches"),
                   errdetail("Queue \"%s\" is in such an instance: the jobs of a batch could be on "
                             "several servers.",
                             name.c_str()),
                   errhint("Count the jobs that have ended in a table of your own."));
}

job::After after_of(const AfterWords &words, const catalog::Catalogue &catalogue,
                    const catalog::Queue &queue, const std::vector<std::int64_t> &ids)
{
    pg::demand(core::check_count_of("after", ids.size(), most_jobs_before));
    job::After after{{}, policy_of(words.policy), on_failure_of(words.on_failure)};
    after.jobs = find_jobs(catalogue, queue, ids);
    return after;
}

std::optional<job::After> after_of(const pg::Arguments &arguments, int position,
                                   const catalog::Catalogue &catalogue, const catalog::Queue &queue)
{
    const AfterWords words{arguments.maybe_text(at(position + 1, "after_policy")),
                           arguments.maybe_text(at(position + 2, "on_failure"))};
    const pg::Argument at_ids = at(position, "after");
    const auto batch_id = arguments.maybe_int64(at(position + 4, "after_batch"));
    if (!arguments.has(at_ids) && !batch_id.has_value()) {
        if (words.any())
            HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                       errmsg("%s needs after or after_batch",
                              words.policy.has_value() ? "after_policy" : "on_failure"),
                       errhint("Give after => ARRAY[...], the jobs that the new one comes after."));
        return std::nullopt;
    }
    const std::vector<std::int64_t> ids =
        arguments.has(at_ids) ? arguments.integers64(at_ids) : std::vector<std::int64_t>();
    if (ids.empty() && !batch_id.has_value())
        return std::nullopt;
    demand_dependencies(queue);
    job::After after = after_of(words, catalogue, queue, ids);
    if (batch_id.has_value())
        after.jobs.push_back(batch_before(catalogue, *batch_id));
    return after;
}

// All of them for `any`, or if they are few; else one in the middle, as the scheduler does when
// that one has ended.
void watch_jobs_before(const job::After &after)
{
    std::span<const job::JobBefore> watched(after.jobs);
    if (after.policy != core::AfterPolicy::any && watched.size() > core::few_jobs_before)
        watched = watched.subspan(watched.size() / 2, 1);
    for (const job::JobBefore &before : watched)
        wakeup::watch_job(before.id);
}

// Of jobs that were there before, one is reported after the commit, because all may have ended.
void come_after(const catalog::Queue &queue, std::span<const std::int64_t> job_ids,
                const job::After &after)
{
    job::insert_dependencies(queue, job_ids, after);
    watch_jobs_before(after);
    wakeup::watch_older_job(after.jobs.back().id);
}

}  // namespace hipq::enqueue
