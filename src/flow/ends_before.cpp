// Reads the ends of the jobs before a held job from the highest id down to the first unfinished
// one, and of many jobs also from the lowest id up. Jobs mostly end in the order of their ids.
// Failures between the two are found when they are reported.
//
// If many jobs may be unfinished, the scheduler watches one in the middle. So each look leaves
// about half of them to the next one, and the last look reads few.
#include "flow/ends_before.hpp"

namespace hipq::flow {

namespace {

using Between = DependencyIndex::Between;
using From = DependencyIndex::From;

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

// Reads the jobs that may be unfinished from one side. Until it finds one that is, that side moves.
// False: SQL must read the state.
bool EndsBefore::read(Reading &reading, const catalog::Queue &queue, From from)
{
    job::WaitState &state = reading.state;
    const auto side = from == From::highest ? &Between::below : &Between::above;
    const auto has_found = [&, before = state.before.unfinished] {
        return state.before.unfinished > before;
    };
    Between rest = reading.open;
    for (std::size_t most = first_rows;; most = std::min(most * 4, most_rows)) {
        const auto rows = dependencies_.jobs_before(queue.id, state.job_id, rest, from, most);
        for (const DependencyIndex::Before &row : rows) {
            if (most > first_rows && reading.may_stop && has_found())
                return true;
            if (!count(state, row))
                return false;
            if (!has_found())
                reading.open.*side = row.id;
        }
        if (rows.size() < most)
            break;
        if (reading.only_few)
            return false;
        reading.is_long = true;
        rest.*side = rows.back().id;
    }
    if (from == From::highest && has_found())
        reading.open.above = state.to_watch.back() - 1;
    return true;
}

// An unfinished job in the middle of those between two unfinished ones.
std::int64_t EndsBefore::middle(const catalog::Queue &queue, std::int64_t job_id,
                                std::int64_t lowest, std::int64_t highest)
{
    for (std::int64_t below = highest + 1; below - lowest > 1;) {
        const std::int64_t middle = lowest + (below - lowest) / 2;
        const auto rows =
            dependencies_.jobs_before(queue.id, job_id, {middle - 1, below}, From::lowest, 1);
        if (!rows.empty() && end_of(rows.front()) == FoundEnd::unfinished)
            return rows.front().id;
        below = middle;
    }
    return lowest;
}

// Chooses one of many unfinished jobs, of which the highest one has been read. False: SQL must read
// the state.
bool EndsBefore::watch_one(Reading &reading, const catalog::Queue &queue)
{
    job::WaitState &state = reading.state;
    const std::int64_t highest = state.to_watch.front();
    state.to_watch.clear();
    reading.may_stop = true;
    if (!read(reading, queue, From::lowest))
        return false;
    state.to_watch = {middle(queue, state.job_id, state.to_watch.front(), highest)};
    return true;
}

bool EndsBefore::has_failed(const catalog::Queue &queue, std::int64_t job_id,
                            const std::set<std::int64_t> &reported)
{
    return std::ranges::any_of(reported, [&](std::int64_t id) {
        const auto rows =
            dependencies_.jobs_before(queue.id, job_id, {id - 1, id + 1}, From::highest, 1);
        if (rows.empty())
            return false;
        const FoundEnd end = end_of(rows.front());
        return end == FoundEnd::failure || end == FoundEnd::unknown;
    });
}

std::optional<job::WaitState> EndsBefore::state_of(const catalog::Queue &queue, std::int64_t job_id,
                                                   const std::set<std::int64_t> &reported,
                                                   OpenEnds &known)
{
    const auto rule = dependencies_.rule_of(queue.id, job_id);
    if (!rule.has_value() || rule->policy == core::AfterPolicy::any)
        return std::nullopt;
    Reading reading{{job_id, rule->policy, rule->on_failure, {}, {}, {}}};
    reading.may_stop = !minds_failures(reading.state);
    const auto place = known.find(job_id);
    const bool trusts = place != known.end() && (reading.may_stop || !reported.empty());
    if (trusts) {
        reading.open = place->second;
        reading.is_long = true;
    }
    if (place != known.end())
        known.erase(place);
    if (trusts && !reading.may_stop && has_failed(queue, job_id, reported))
        return std::nullopt;
    reading.may_stop = reading.may_stop || trusts;
    if (!read(reading, queue, From::highest))
        return std::nullopt;
    if (reading.is_long && reading.state.before.unfinished > 0) {
        if (!watch_one(reading, queue))
            return std::nullopt;
        if (known.size() == most_known)
            known.clear();
        known[job_id] = reading.open;
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
    return read(reading, queue, From::highest) ? std::optional(std::move(reading.state))
                                               : std::nullopt;
}

void EndsBefore::close()
{
    for (auto &[id, ends] : ends_)
        ends.close();
    dependencies_.close();
}

}  // namespace hipq::flow
