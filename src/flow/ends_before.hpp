// Reads what the ends of the jobs before a held job decide, without SQL and without reading all of
// them where that is not needed.
#pragma once

#include "flow/dependency_index.hpp"
#include "flow/end_index.hpp"
#include "job/dependency_rows.hpp"

namespace hipq::flow {

// Of held jobs with many jobs before them: between which ids any of these may be unfinished. All
// others have ended. An end is final, so this stays true. A process keeps it from one look to the
// next.
using OpenEnds = std::map<std::int64_t, DependencyIndex::Between>;

// Needs a transaction. close() closes what it has opened, or the abort does.
class EndsBefore {
public:
    // Nothing: the tables are not as hipq creates them; the caller must use SQL.
    static std::optional<EndsBefore> open(const catalog::Catalogue &catalogue);

    // The jobs after others, and those before.
    DependencyIndex &dependencies() { return dependencies_; }

    // How a job has ended that others come after.
    FoundEnd end_of(const DependencyIndex::Before &job);

    // The state of a held job as committed when this was opened; nothing: wait_states() must read
    // it. While a job is unfinished that it waits for, not all others are counted. `reported` are
    // the jobs whose ends the caller has not looked at before; none: it must not rely on `known`.
    std::optional<job::WaitState> state_of(const catalog::Queue &queue, std::int64_t job_id,
                                           const std::set<std::int64_t> &reported, OpenEnds &known);

    // The same, whole, if the job has few jobs before it (core::few_jobs_before).
    std::optional<job::WaitState> state_of_few(const catalog::Queue &queue, std::int64_t job_id);

    void close();

private:
    struct Reading {
        job::WaitState state;
        DependencyIndex::Between open{};  // outside, all have ended
        bool may_stop = false;            // at an unfinished job
        bool is_long = false;             // many jobs before
        bool only_few = false;
    };
    EndsBefore(const catalog::Catalogue &catalogue, DependencyIndex dependencies)
        : catalogue_(&catalogue), dependencies_(dependencies)
    {
    }
    bool count(job::WaitState &state, const DependencyIndex::Before &before);
    bool read(Reading &reading, const catalog::Queue &queue, DependencyIndex::From from);
    std::int64_t middle(const catalog::Queue &queue, std::int64_t job_id, std::int64_t lowest,
                        std::int64_t highest);
    bool watch_one(Reading &reading, const catalog::Queue &queue);
    bool has_failed(const catalog::Queue &queue, std::int64_t job_id,
                    const std::set<std::int64_t> &reported);

    const catalog::Catalogue *catalogue_;
    DependencyIndex dependencies_;
    std::map<int, EndIndex> ends_{};  // by queue
};

}  // namespace hipq::flow
