// Reads the ends of the jobs before a held job from the highest id down, because jobs mostly end in
// the order of their ids: the first unfinished one is soon found. Failures among the others are
// found when they are reported.
#include "flow/ends_before.hpp"

namespace hipq::flow {

namespace {

constexpr std::size_t first_rows = core::few_jobs_before + 1;
constexpr std::size_t most_rows = 1'024;
constexpr std::size_t most_known = 1'000;

// Whether a failure before the job decides about it at once.
bool minds_failures(const job::WaitState &state)
{
    return state.policy == core::AfterPolicy::failed ||
           (state.policy == core::AfterPolicy::succeeded &&
            state.on_failure != core::OnFailure::run);
}

}  // namespace

std::optional<EndsBefore> EndsBefore::open(const catalog::Catalogue &catalogue)
{
    std::optional<DependencyIndex> dependencies = DependencyIndex::open();
    return dependencies.has_value() ? std::optional(EndsBefore(catalogue, *dependencies))
                                    : std::nullopt;
}

FoundEnd EndsBefore::end_of(const DependencyIndex::Before &job)
{
    if (job.is_kept)
        return job.has_succeeded ? FoundEnd::success : FoundEnd::failure;
    auto place = ends_.find(job.queue_id);
    if (place == ends_.end()) {
        const catalog::Queue *queue = catalogue_->find(job.queue_id);
        if (queue == nullptr || queue->is_dropped)
            return FoundEnd::unknown;
        place = ends_.emplace(job.queue_id, EndIndex::open(*queue)).first;
    }
    return place->second.end_of(job.id);
}

// False: SQL must read the state.
bool EndsBefore::count(job::WaitState &state, const DependencyIndex::Before &before)
{
    switch (end_of(before)) {
    case FoundEnd::unfinished:
        ++state.before.unfinished;
        state.to_watch.push_back(before.id);
        return true;
    case FoundEnd::success:
        ++state.before.succeeded;
        return true;
    case FoundEnd::failure:
        ++state.before.failed;
        return !minds_failures(state);  // SQL finds which of them is the cause
    case FoundEnd::unknown:
        break;
    }
    return false;
}

// Reads down from `ended_to`, which moves as long as all jobs have ended. False: SQL must read the
// state.
bool EndsBefore::read_down(Reading &reading, const catalog::Queue &queue)
{
    job::WaitState &state = reading.state;
    const auto may_stop = [&] { return reading.may_stop && state.before.unfinished > 0; };
    std::int64_t below = reading.ended_to;
    for (std::size_t most = first_rows;; most = std::min(most * 4, most_rows)) {
        const auto rows = dependencies_.jobs_before(queue.id, state.job_id, below, most);
        for (const DependencyIndex::Before &row : rows) {
            if (most > first_rows && may_stop())
                return true;
            if (!count(state, row))
                return false;
            if (state.before.unfinished == 0)
                reading.ended_to = row.id;
        }
        if (rows.size() < most)
            return true;
        if (reading.only_few)
            return false;
        reading.is_long = true;
        below = rows.back().id;
    }
}

bool EndsBefore::has_failed(const catalog::Queue &queue, std::int64_t job_id,
                            const std::set<std::int64_t> &reported)
{
    return std::ranges::any_of(reported, [&](std::int64_t id) {
        const auto rows = dependencies_.jobs_before(queue.id, job_id, id + 1, 1);
        if (rows.empty() || rows.front().id != id)
            return false;
        const FoundEnd end = end_of(rows.front());
        return end == FoundEnd::failure || end == FoundEnd::unknown;
    });
}

std::optional<job::WaitState> EndsBefore::state_of(const catalog::Queue &queue, std::int64_t job_id,
                                                   const std::set<std::int64_t> &reported,
                                                   EndedDownTo &known)
{
    const auto rule = dependencies_.rule_of(queue.id, job_id);
    if (!rule.has_value() || rule->policy == core::AfterPolicy::any)
        return std::nullopt;
    Reading reading{{job_id, rule->policy, rule->on_failure, {}, {}, {}}};
    reading.may_stop = !minds_failures(reading.state);
    const auto place = known.find(job_id);
    const bool trusts = place != known.end() && (reading.may_stop || !reported.empty());
    if (trusts) {
        reading.ended_to = place->second;
        reading.is_long = true;
    }
    if (place != known.end())
        known.erase(place);
    if (trusts && !reading.may_stop && has_failed(queue, job_id, reported))
        return std::nullopt;
    reading.may_stop = reading.may_stop || trusts;
    if (!read_down(reading, queue))
        return std::nullopt;
    if (reading.is_long && reading.state.before.unfinished > 0) {
        reading.state.to_watch.resize(1);
        if (known.size() == most_known)
            known.clear();
        known[job_id] = reading.ended_to;
    }
    return reading.state;
}

std::optional<job::WaitState> EndsBefore::state_of_few(const catalog::Queue &queue,
                                                       std::int64_t job_id)
{
    const auto rule = dependencies_.rule_of(queue.id, job_id);
    if (!rule.has_value() || rule->policy == core::AfterPolicy::any)
        return std::nullopt;
    Reading reading{{job_id, rule->policy, rule->on_failure, {}, {}, {}}};
    reading.only_few = true;
    return read_down(reading, queue) ? std::optional(std::move(reading.state)) : std::nullopt;
}

void EndsBefore::close()
{
    for (auto &[id, ends] : ends_)
        ends.close();
    dependencies_.close();
}

}  // namespace hipq::flow
