// A job: its row, why it waits, its attempts, their messages, its data.
#include "screens/actions.hpp"
#include "screens/screens.hpp"
#include "screens/text.hpp"

namespace hipq::top {

namespace {

class JobScreen : public Screen {
public:
    JobScreen(Mode mode, QueueName queue, std::string id)
        : mode_(std::move(mode)), queue_(std::move(queue)), id_(std::move(id))
    {
    }

    std::string title() const override { return "job " + id_; }
    std::string help() const override
    {
        return mode_.is_read_only ? "G: its graph  up/down: scroll  Esc: back"
                                  : "c: cancel  r: run again  R: redrive the dead letter  "
                                    "D: dismiss it  G: its graph  up/down: scroll  Esc: back";
    }

    // First its queue, then the queue's table, then the job.
    std::vector<Statement> asks() const override
    {
        if (queue_.name.empty())
            return {statements::queue_of_job(id_)};
        if (queue_.table.empty())
            return {statements::table_of_queue(queue_.name)};
        return {statements::job(queue_, id_),
                statements::why(queue_, id_),
                statements::attempts(queue_, id_),
                statements::log(queue_, id_),
                statements::dead_letter(queue_, id_),
                statements::progress(id_),
                statements::waits(id_)};
    }
    bool asks_on() const override { return asks_on_; }
    void take(const std::vector<Answer> &answers) override
    {
        asks_on_ = false;
        complaints_.clear();
        if (queue_.name.empty())
            take_name(answers.front());
        else if (queue_.table.empty())
            take_table(answers.front());
        else
            take_job(answers);
    }

    Page page(int width) const override { return {head(width), body(width), -1}; }
    int lines(int width) const override { return static_cast<int>(body(width).size()); }

    Move key(int key) override
    {
        if (key == 'G')
            return open(graph_screen(mode_, id_));
        if (key != 'c' && key != 'r' && key != 'R' && key != 'D')
            return {};
        if (mode_.is_read_only)
            return say("nothing is changed with --read-only");
        if (queue_.table.empty())
            return {};
        if (key == 'c')
            return act(actions::cancel(queue_, id_));
        if (key == 'r')
            return act(actions::retry(queue_, id_));
        if (dead_letter_.empty())
            return say("job " + id_ + " has no dead letter");
        return act(key == 'R' ? actions::redrive(id_) : actions::dismiss(id_));
    }

private:
    // ---- answers of the server

    void complain(const Answer &answer, const std::string &what)
    {
        if (!answer)
            complaints_.push_back((answer.sqlstate == "42501"
                                       ? "Your role may not read " + what + ": "
                                       : what + ": ") +
                                  answer.error);
    }
    void take_name(const Answer &answer)
    {
        complain(answer, "the job");
        if (!answer)
            return;
        queue_.name = answer.rows.text(0, "queue");
        if (queue_.name.empty())
            complaints_.push_back(answer.rows.text(0, "explanation"));
        asks_on_ = !queue_.name.empty();
    }
    void take_table(const Answer &answer)
    {
        complain(answer, "the queue");
        if (!answer)
            return;
        queue_.table = answer.rows.text(0, "table_name");
        if (queue_.table.empty())
            complaints_.emplace_back("There is no such queue, or your role may not see it.");
        asks_on_ = !queue_.table.empty();
    }
    void take_job(const std::vector<Answer> &answers)
    {
        static constexpr const char *what[] = {"the job",    "what it waits for", "its attempts",
                                               "its log",    "its dead letter",   "its progress",
                                               "its process"};
        Rows *const to[] = {&job_, &why_, &attempts_, &log_, &dead_letter_, &progress_, &waits_};
        for (std::size_t i = 0; i < answers.size(); ++i) {
            complain(answers[i], what[i]);
            *to[i] = answers[i].rows;
        }
        if (answers[0] && job_.empty())
            complaints_.emplace_back(
                "There is no such job any more: final jobs go after the queue's retention.");
    }

    // ---- the page

    std::string outcome() const
    {
        const std::string state = job_.text(0, "state");
        if (state == "running" || job_.is_true(0, "is_locked"))
            return "running";
        if (state != "final")
            return job_.is_true(0, "is_held") ? "held" : "waiting";
        if (job_.text(0, "error") == "NONE")
            return "succeeded";
        const std::string reason = job_.text(0, "retry_reason");
        return reason == "cancelled" || reason == "expired" || reason == "skipped" ? reason
                                                                                   : "failed";
    }

    std::vector<Line> head(int width) const
    {
        std::vector<Line> lines;
        for (const std::string &complaint : complaints_)
            for (const std::string &line : wrap(complaint, width))
                lines.push_back(plain(line, Tone::bad));
        if (job_.empty())
            return lines;
        Line line{{outcome(), tone_of_outcome(outcome())},
                  {"   " + queue_.name + "   type " + job_.text(0, "job_type")}};
        if (job_.get(0, "job_key"))
            line.push_back({"   key " + one_line(job_.text(0, "job_key"))});
        lines.push_back(line);
        if (!progress_.empty())
            lines.push_back(progress_line(width));
        if (!waits_.empty() && waits_.get(0, "waits_for"))
            lines.push_back(waits_line());
        return lines;
    }

    Line progress_line(int width) const
    {
        const double done = progress_.number(0, "done");
        const double total = progress_.number(0, "total");
        std::string text = count_text(done);
        Line line;
        if (total > 0) {
            line.push_back({bar(done, total, std::min(30, width / 3)) + " ", Tone::good});
            text += " of " + count_text(total);
        }
        line.push_back({text + " " + one_line(progress_.text(0, "message"))});
        return line;
    }

    Line waits_line() const
    {
        Line line{
            {"process " + waits_.text(0, "pid") + " waits for " + waits_.text(0, "waits_for")}};
        if (waits_.get(0, "blocked_by"))
            line.push_back({", blocked by " + waits_.text(0, "blocked_by"), Tone::bad});
        return line;
    }

    std::vector<Line> body(int width) const
    {
        std::vector<Line> lines;
        if (job_.empty())
            return lines;
        add_row(lines, width);
        add_why(lines, width);
        add_attempts(lines, width);
        add_log(lines, width);
        add_json(lines, width, "Data", "job_data");
        add_json(lines, width, "Result", "result");
        return lines;
    }

    static void add_wrapped(std::vector<Line> &lines, int width, const std::string &label,
                            const std::string &text, Tone tone = Tone::plain)
    {
        const int indent = width_of(label);
        bool is_first = true;
        for (const std::string &part : wrap(text, std::max(20, width - indent))) {
            lines.push_back(
                {{is_first ? label : std::string(static_cast<std::size_t>(indent), ' '), Tone::dim},
                 {part, tone}});
            is_first = false;
        }
    }

    void add_row(std::vector<Line> &lines, int width) const
    {
        static constexpr std::pair<const char *, const char *> shown[] = {
            {"enqueued", "created_time"}, {"to start", "scheduled_run_time"},
            {"started", "accepted_time"}, {"changed", "update_time"},
            {"times out", "deadline"},    {"expires", "expires_time"},
            {"run again of", "retry_of"}, {"because", "manual_reason"},
            {"worker", "worker_id"},      {"limit key", "throttle_key"},
            {"windows", "time_windows"},  {"trace", "traceparent"}};
        lines.push_back(
            {{"attempt " + job_.text(0, "attempt") + ", " + job_.text(0, "retry_count") + " of " +
              job_.text(0, "max_retries") + " retries, priority " + job_.text(0, "priority") +
              ", timeout " + job_.text(0, "timeout") + " s, weight " +
              job_.text(0, "throttle_factor")}});
        for (const auto &[label, column] : shown)
            if (job_.get(0, column))
                add_wrapped(lines, width, fit(label, 14), job_.text(0, column));
        if (job_.text(0, "error") != "NONE")
            add_wrapped(lines, width, fit("error", 14), job_.text(0, "error"), Tone::bad);
        if (!dead_letter_.empty())
            add_wrapped(lines, width, fit("dead letter", 14), dead_letter_text(), Tone::warning);
    }

    std::string dead_letter_text() const
    {
        std::string text = dead_letter_.text(0, "state") + ", " + dead_letter_.text(0, "reason");
        if (dead_letter_.get(0, "redriven_as"))
            text += ", redriven as job " + dead_letter_.text(0, "redriven_as");
        if (dead_letter_.get(0, "handler_error"))
            text += ", its handler failed: " + dead_letter_.text(0, "handler_error");
        return text;
    }

    static void add_title(std::vector<Line> &lines, const std::string &title)
    {
        lines.emplace_back();
        lines.push_back(plain(title, Tone::strong));
    }

    // For a waiting job: the unmet conditions, and the met ones in short.
    void add_why(std::vector<Line> &lines, int width) const
    {
        if ((outcome() != "waiting" && outcome() != "held") || why_.empty())
            return;
        add_title(lines, "Why it waits");
        std::string passed;
        for (std::size_t i = 0; i < why_.size(); ++i)
            if (why_.is_true(i, "passed"))
                passed += (passed.empty() ? "" : ", ") + why_.text(i, "condition");
            else
                add_wrapped(lines, width, "  " + fit(why_.text(i, "condition"), 18),
                            why_.text(i, "explanation"), Tone::bad);
        add_wrapped(lines, width, "  " + fit("is not in its way", 18), passed, Tone::dim);
    }

    void add_attempts(std::vector<Line> &lines, int width) const
    {
        if (attempts_.empty())
            return;
        add_title(lines, "Attempts, the last one first");
        for (std::size_t i = 0; i < attempts_.size(); ++i) {
            const std::string reason = attempts_.text(i, "reason");
            lines.push_back(
                {{"  " + attempts_.text(i, "attempt") + "  "},
                 {reason, reason == "succeeded" ? Tone::good : Tone::bad},
                 {" " + attempts_.text(i, "sqlstate") + "  " + attempts_.text(i, "started_time") +
                      "  " + time_cell(attempts_, i, "seconds").text,
                  Tone::dim}});
            for (const char *column : {"error", "detail", "hint"})
                if (!attempts_.text(i, column).empty())
                    add_wrapped(lines, width, "     ", attempts_.text(i, column));
        }
    }

    void add_log(std::vector<Line> &lines, int width) const
    {
        if (log_.empty())
            return;
        add_title(lines, "What its handler said, the last first");
        for (std::size_t i = 0; i < log_.size(); ++i)
            add_wrapped(lines, width,
                        "  " + log_.text(i, "attempt") + " " + log_.text(i, "logged_time") + " " +
                            fit(log_.text(i, "level"), 8),
                        log_.text(i, "message"));
    }

    void add_json(std::vector<Line> &lines, int width, const std::string &title,
                  const char *column) const
    {
        if (!job_.get(0, column))
            return;
        const bool has_secrets = job_.text(0, column).find("\"***\"") != std::string::npos;
        add_title(lines, title + (has_secrets ? " (secret parameters are ***)" : ""));
        for (const std::string &line : wrap(pretty_json(job_.text(0, column)), width - 2))
            lines.push_back(plain("  " + line));
    }

    Mode mode_;
    QueueName queue_;
    std::string id_;
    std::vector<std::string> complaints_;
    Rows job_;
    Rows why_;
    Rows attempts_;
    Rows log_;
    Rows dead_letter_;
    Rows progress_;
    Rows waits_;
    bool asks_on_ = false;
};

}  // namespace

std::shared_ptr<Screen> job_screen(const Mode &mode, const QueueName &queue, const std::string &id)
{
    return std::make_shared<JobScreen>(mode, queue, id);
}

std::shared_ptr<Screen> found_job_screen(const Mode &mode, const std::string &id)
{
    return std::make_shared<JobScreen>(mode, QueueName{}, id);
}

}  // namespace hipq::top
