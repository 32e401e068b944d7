// Runs a program for each job: data on its stdin, its stdout is the result.
#include "single/single.hpp"

#include "single/variables.hpp"

namespace hipq::run {

using Level = LogEntry::Level;

Single::Single(Loop &loop, Guard &guard, ExecutorOptions options, Reports reports)
    : loop_(loop), guard_(guard), options_(std::move(options)), reports_(std::move(reports))
{
}

void Single::start(const ClaimedJob &job)
{
    Run &run = runs_.try_emplace(name_of(job), job).first->second;
    const auto log_line = [this, &run](const std::string &line) {
        reports_.log(entry(run, Level::info, "stderr", clean_text(line)));
    };
    run.error_lines.emplace(longest_line, Lines::Long::in_pieces, log_line);
    run.said_lines.emplace(longest_line, Lines::Long::left_out,
                           [this, &run](const std::string &line) { hear_said(run, line); });
    try {
        Spawned spawned = spawn(options_.command, variables_of(job), guard_);
        run.process.emplace(loop_, guard_, std::move(spawned), hears(run));
    } catch (const std::system_error &error) {
        reports_.log(entry(run, Level::error, "program not run", error.what()));
        runs_.erase(name_of(job));
        reports_.ended(job, {Ending::Kind::release, delay_without_program});
        return;
    }
    run.process->write(job.data + "\n");
    run.process->close_input();
}

Hears Single::hears(Run &run)
{
    Hears hears;
    hears.out = [this, &run](std::string_view bytes) {
        Output &output = run.output;
        output.is_too_long =
            output.is_too_long || output.out.size() + bytes.size() > options_.max_output;
        if (!output.is_too_long)
            output.out += bytes;
    };
    hears.error = [&run](std::string_view bytes) {
        run.tail.add(bytes);
        run.error_lines->add(bytes);
    };
    hears.progress = [&run](std::string_view bytes) { run.said_lines->add(bytes); };
    hears.exit = [this, &run](ExitStatus status) { finish(run, status); };
    return hears;
}

void Single::hear_said(Run &run, const std::string &line)
{
    const auto said = read_said(line);
    if (said && said->retry_after)
        run.retry_after = said->retry_after;
    else if (said)
        reports_.said(name_of(run.job), *said);
    else
        reports_.log(entry(run, Level::warning, "progress not understood", clean_text(line)));
}

void Single::finish(Run &run, ExitStatus status)
{
    run.error_lines->end();
    run.said_lines->end();
    run.output.error_tail = run.tail.text();
    // If it was ended on purpose, it may have finished its work.
    const bool has_succeeded = status.signal == 0 && status.code == 0;
    const bool counts =
        !run.instead || (has_succeeded && run.instead->kind == Ending::Kind::release);
    Ending ending =
        counts ? ending_of(status, run.output, options_.failure_is_final) : *run.instead;
    ending.status = status;
    if (ending.kind == Ending::Kind::fail && ending.retriable)
        ending.retry_after = run.retry_after;
    const ClaimedJob job = run.job;
    runs_.erase(name_of(job));
    reports_.ended(job, ending);
}

void Single::over(Attempt attempt)
{
    if (const auto found = runs_.find(attempt); found != runs_.end())
        end(found->second, {Ending::Kind::nothing});
}

void Single::end_all()
{
    for (auto &[name, run] : runs_)
        if (!run.instead)
            end(run, {Ending::Kind::release, "0"});
}

void Single::end(Run &run, const Ending &instead)
{
    run.instead = instead;
    run.process->end(options_.kill_after);
}

void Single::look()
{
    for (auto next = runs_.begin(); next != runs_.end();) {
        Run &run = (next++)->second;
        run.process->look();
    }
}

LogEntry Single::entry(const Run &run, Level level, const std::string &event,
                       const std::string &message) const
{
    return {level, event, message, run.job.id, run.job.attempt, run.job.type};
}

}  // namespace hipq::run
