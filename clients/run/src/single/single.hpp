// Runs a program for each job: data on its stdin, its stdout is the result.
#pragma once

#include "child/executor.hpp"
#include "child/lines.hpp"

namespace hipq::run {

class Single : public Executor {
public:
    Single(Loop &loop, Guard &guard, ExecutorOptions options, Reports reports);

    void start(const ClaimedJob &job) override;
    void over(Attempt attempt) override;
    void end_all() override;
    void finish() override {}
    void look() override;
    int free() const override { return options_.jobs - running(); }
    int running() const override { return static_cast<int>(runs_.size()); }
    bool has_finished() const override { return runs_.empty(); }

private:
    // A job and its program.
    struct Run {
        explicit Run(ClaimedJob claimed) : job(std::move(claimed)) {}
        ClaimedJob job;
        Output output;
        Tail tail{error_tail_size};
        std::optional<Lines> error_lines;
        std::optional<Lines> said_lines;
        std::optional<std::string> retry_after;  // requested by the program
        std::optional<Process> process;
        // Why it was ended before it ended by itself.
        std::optional<Ending> instead;
    };

    Hears hears(Run &run);
    void hear_said(Run &run, const std::string &line);
    void finish(Run &run, ExitStatus status);
    void end(Run &run, const Ending &instead);
    LogEntry entry(const Run &run, LogEntry::Level level, const std::string &event,
                   const std::string &message) const;

    Loop &loop_;
    Guard &guard_;
    ExecutorOptions options_;
    Reports reports_;
    std::map<Attempt, Run> runs_;
};

}  // namespace hipq::run
