// Runs all jobs in one long-running program: a line of JSON for each job, and one for each answer.
#include "batch/batch.hpp"

namespace hipq::run {

using Level = LogEntry::Level;

namespace {

constexpr Loop::Milliseconds first_pause{100};
constexpr Loop::Milliseconds longest_pause{10'000};

}  // namespace

Batch::Batch(Loop &loop, Guard &guard, ExecutorOptions options, Reports reports)
    : loop_(loop), guard_(guard), options_(std::move(options)), reports_(std::move(reports))
{
}

Batch::~Batch()
{
    loop_.cancel(pause_timer_);
    for (const auto &[name, run] : jobs_)
        loop_.cancel(run.over_timer);
}

int Batch::free() const
{
    const bool can_start = !is_pausing_ && !(process_ && process_->is_ending());
    return can_start ? options_.jobs - running() : 0;
}

// ---- the program

// It starts with the first job, and with the first one after its end.
bool Batch::start_program()
{
    tail_.emplace(error_tail_size);
    out_lines_.emplace(options_.max_output, Lines::Long::cut,
                       [this](const std::string &line) { hear(line); });
    error_lines_.emplace(longest_line, Lines::Long::in_pieces, [this](const std::string &line) {
        log(Level::info, "stderr", clean_text(line));
    });
    Hears hears;
    hears.out = [this](std::string_view bytes) { out_lines_->add(bytes); };
    hears.error = [this](std::string_view bytes) {
        tail_->add(bytes);
        error_lines_->add(bytes);
    };
    hears.progress = [](std::string_view) {};
    hears.exit = [this](ExitStatus status) { finish(status); };
    try {
        Spawned spawned = spawn(options_.command, {{"HIPQ_BATCH", "1"}}, guard_);
        process_.emplace(loop_, guard_, std::move(spawned), std::move(hears));
    } catch (const std::system_error &error) {
        log(Level::error, "program not run", error.what());
        return false;
    }
    is_ended_on_purpose_ = false;
    has_answered_ = false;
    return true;
}

void Batch::end_program()
{
    is_ended_on_purpose_ = true;
    if (process_)
        process_->end(options_.kill_after);
}

void Batch::look()
{
    if (process_)
        process_->look();
}

// If it ends by itself, its jobs fail, because one of them may be the cause. If it was ended
// because of an attempt that was over, or with hipq-run, its other jobs are given back.
void Batch::finish(ExitStatus status)
{
    out_lines_->end();
    error_lines_->end();
    const std::string error = "the program ended with this job: " + error_of(status, tail_->text());
    const bool on_purpose = is_ended_on_purpose_;
    if (!on_purpose && !jobs_.empty())
        log(Level::warning, "program ended", error_of(status, ""));
    process_.reset();
    const Ending ending =
        on_purpose ? Ending{Ending::Kind::release, "0"} : Ending{Ending::Kind::fail, error, true};
    while (!jobs_.empty())
        end_job(jobs_.begin()->first, ending);
    pause_after(on_purpose || has_answered_);
}

// A program that exits at once is not restarted immediately.
void Batch::pause_after(bool is_healthy)
{
    pause_ =
        is_healthy ? Loop::Milliseconds(0) : std::clamp(2 * pause_, first_pause, longest_pause);
    is_pausing_ = !is_healthy;
    if (is_pausing_)
        pause_timer_ = loop_.after(pause_, [this] { is_pausing_ = false; });
}

// ---- jobs

void Batch::start(const ClaimedJob &job)
{
    jobs_.try_emplace(name_of(job), Run{job});
    const bool can_run = !is_pausing_ && !(process_ && process_->is_ending());
    if (can_run && (process_ || start_program())) {
        process_->write(job_line(job));
        return;
    }
    end_job(name_of(job),
            {Ending::Kind::release, is_pausing_ || process_ ? "0" : delay_without_program});
}

void Batch::hear(const std::string &line)
{
    if (line.empty())
        return;
    try {
        take(line.size() > options_.max_output ? read_long_answer(line) : read_answer(line));
    } catch (const std::invalid_argument &error) {
        log(Level::warning, "answer not understood",
            std::string(error.what()) + ": " + clean_text(line.substr(0, 200)));
    }
}

void Batch::take(const BatchAnswer &answer)
{
    const auto found = std::find_if(jobs_.begin(), jobs_.end(), [&](const auto &entry) {
        return entry.first.id == answer.id &&
               answer.attempt.value_or(entry.first.attempt) == entry.first.attempt;
    });
    if (found == jobs_.end())
        throw std::invalid_argument("job " + std::to_string(answer.id) + " does not run");
    has_answered_ = true;
    const Attempt attempt = found->first;
    if (answer.said && !found->second.is_over)
        reports_.said(attempt, *answer.said);
    if (answer.ending)
        end_job(attempt, *answer.ending);
}

void Batch::end_job(Attempt attempt, const Ending &ending)
{
    const auto found = jobs_.find(attempt);
    const Run run = found->second;
    loop_.cancel(run.over_timer);
    jobs_.erase(found);
    reports_.ended(run.job, run.is_over ? Ending{Ending::Kind::nothing} : ending);
}

// Tells the program. If it continues nevertheless it is ended, and starts again.
void Batch::over(Attempt attempt)
{
    const auto found = jobs_.find(attempt);
    if (found == jobs_.end() || found->second.is_over)
        return;
    found->second.is_over = true;
    process_->write(over_line(attempt));
    found->second.over_timer = loop_.after(options_.kill_after, [this, attempt] {
        log(Level::warning, "program ended",
            "it went on with job " + std::to_string(attempt.id) + ", which is over");
        end_program();
    });
}

void Batch::end_all()
{
    end_program();
}

// When all jobs have been answered, the program can exit. If it does not, it is ended.
void Batch::finish()
{
    if (!process_ || !jobs_.empty() || is_ended_on_purpose_)
        return;
    is_ended_on_purpose_ = true;
    process_->close_input();
    pause_timer_ = loop_.after(options_.kill_after, [this] { end_program(); });
}

void Batch::log(Level level, const std::string &event, const std::string &message) const
{
    reports_.log({level, event, message});
}

}  // namespace hipq::run
