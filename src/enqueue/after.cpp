// Reads and checks what a new job comes after.
#include "enqueue/after.hpp"

#include "catalog/rights.hpp"
#include "core/job/validate.hpp"
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
    refuse_word("after_policy", *word, "Use 'succeeded', 'finished' or 'any'.");
}

core::OnFailure on_failure_of(const std::optional<std::string> &word)
{
    if (!word.has_value())
        return core::OnFailure::fail;
    if (const auto on_failure = core::parse_on_failure(*word))
        return *on_failure;
    refuse_word("on_failure", *word, "Use 'fail', 'skip' or 'run'.");
}

// The queue of each job, for a caller that may read it.
std::vector<job::JobBefore> find_jobs(const catalog::Catalogue &catalogue,
                                      std::vector<std::int64_t> ids)
{
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    std::vector<job::JobBefore> jobs;
    for (const std::int64_t id : ids) {
        const job::FoundJob found =
            job::require_job(catalogue, id, std::nullopt, catalog::Privilege::read);
        demand_dependencies(*found.queue);
        jobs.push_back({id, found.queue->id});
    }
    return jobs;
}

}  // namespace

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

job::After after_of(const AfterWords &words, const catalog::Catalogue &catalogue,
                    const std::vector<std::int64_t> &ids)
{
    pg::demand(core::check_count_of("after", ids.size(), most_jobs_before));
    job::After after{{}, policy_of(words.policy), on_failure_of(words.on_failure)};
    after.jobs = find_jobs(catalogue, ids);
    return after;
}

std::optional<job::After> after_of(const pg::Arguments &arguments, int position,
                                   const catalog::Catalogue &catalogue, const catalog::Queue &queue)
{
    const AfterWords words{arguments.maybe_text(at(position + 1, "after_policy")),
                           arguments.maybe_text(at(position + 2, "on_failure"))};
    const pg::Argument at_ids = at(position, "after");
    if (!arguments.has(at_ids)) {
        if (words.any())
            HIPQ_RAISE(
                errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("%s needs after", words.policy.has_value() ? "after_policy" : "on_failure"),
                errhint("Give after => ARRAY[...], the jobs that the new one comes after."));
        return std::nullopt;
    }
    const std::vector<std::int64_t> ids = arguments.integers64(at_ids);
    if (ids.empty())
        return std::nullopt;
    demand_dependencies(queue);
    return after_of(words, catalogue, ids);
}

// Of jobs that were there before, one is reported after the commit, because all may have ended.
void come_after(const catalog::Queue &queue, std::span<const std::int64_t> job_ids,
                const job::After &after)
{
    job::insert_dependencies(queue, job_ids, after);
    if (after.policy == core::AfterPolicy::any)
        for (const job::JobBefore &before : after.jobs)
            wakeup::watch_job(before.id);
    wakeup::watch_older_job(after.jobs.back().id);
}

}  // namespace hipq::enqueue
