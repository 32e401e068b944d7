// Runs all jobs in one long-running program: a line of JSON for each job, and one for each answer.
#pragma once

#include "batch/messages.hpp"
#include "child/lines.hpp"

namespace hipq::run {

class Batch : public Executor {
public:
    Batch(Loop &loop, Guard &guard, ExecutorOptions options, Reports reports);
    ~Batch() override;

    void start(const ClaimedJob &job) override;
    void over(Attempt attempt) override;
    void end_all() override;
    void finish() override;
    void look() override;
    int free() const override;
    int running() const override { return static_cast<int>(jobs_.size()); }
    bool has_finished() const override { return !process_; }

private:
    struct Run {
        ClaimedJob job;
        bool is_over = false;
        Loop::Timer over_timer = {};
    };

    bool start_program();
    void hear(const std::string &line);
    void take(const BatchAnswer &answer);
    void finish(ExitStatus status);
    void end_program();
    void end_job(Attempt attempt, const Ending &ending);
    void pause_after(bool is_healthy);
    void log(LogEntry::Level level, const std::string &event, const std::string &message) const;

    Loop &loop_;
    Guard &guard_;
    ExecutorOptions options_;
    Reports reports_;
    std::map<Attempt, Run> jobs_;
    std::optional<Process> process_;
    std::optional<Tail> tail_;
    std::optional<Lines> out_lines_;
    std::optional<Lines> error_lines_;
    bool is_ended_on_purpose_ = false;
    bool has_answered_ = false;
    bool is_pausing_ = false;
    Loop::Timer pause_timer_;
    Loop::Milliseconds pause_{0};
};

}  // namespace hipq::run
