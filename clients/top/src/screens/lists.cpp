// Lists of workers, executors, dead letters, schedules and alerts; and the help.
#include "screens/actions.hpp"
#include "screens/screens.hpp"
#include "screens/text.hpp"

namespace hipq::top {

namespace {

// One statement, with one table row for each of its rows.
class PlainListScreen : public ListScreen {
public:
    void take(const std::vector<Answer> &answers) override
    {
        if (!all_well(answers))
            return;
        rows_ = answers.front().rows;
        Sheet sheet{columns(), {}};
        for (std::size_t i = 0; i < rows_.size(); ++i)
            sheet.rows.push_back(row(i));
        show(std::move(sheet));
    }

protected:
    virtual std::vector<Column> columns() const = 0;
    virtual SheetRow row(std::size_t i) const = 0;
    virtual std::string none() const = 0;
    std::vector<Line> head(int) const override
    {
        return rows_.empty() ? std::vector<Line>{plain(none(), Tone::dim)} : std::vector<Line>{};
    }
    // The number of the row with this key.
    std::size_t number_of(const std::string &key, const char *column) const
    {
        std::size_t i = 0;
        while (i < rows_.size() && rows_.text(i, column) != key)
            ++i;
        return i;
    }

    Rows rows_;
};

class WorkersScreen : public PlainListScreen {
public:
    explicit WorkersScreen(Mode mode) : mode_(std::move(mode)) {}
    std::string title() const override { return "workers"; }
    std::string help() const override
    {
        return mode_.is_read_only ? "s: sort  /: filter  Esc: back"
                                  : "x: drain the worker  s: sort  /: filter  Esc: back";
    }
    std::vector<Statement> asks() const override { return {statements::workers()}; }

protected:
    std::string none() const override { return "There are no external workers that you may see."; }
    std::vector<Column> columns() const override
    {
        return {{"worker", false, 12}, {"role", false, 6, 90}, {"status"},       {"health"},
                {"running", true},     {"waiting", true},      {"places", true}, {"failed %", true},
                {"silent", true},      {"queues", false, 10}};
    }
    SheetRow row(std::size_t i) const override
    {
        const bool is_active = rows_.text(i, "status") == "active";
        const std::string health = rows_.text(i, "health");
        const bool drains = rows_.is_true(i, "is_draining");
        return {rows_.text(i, "worker_id"),
                {text_cell(rows_, i, "name"),
                 text_cell(rows_, i, "role", Tone::dim),
                 {drains ? "drained" : rows_.text(i, "status"), drains      ? Tone::warning
                                                                : is_active ? Tone::good
                                                                            : Tone::bad},
                 {health, health == "healthy"     ? Tone::good
                          : health == "unhealthy" ? Tone::bad
                                                  : Tone::warning},
                 number_cell(rows_, i, "running_jobs"),
                 number_cell(rows_, i, "queue_depth"),
                 number_cell(rows_, i, "capacity"),
                 number_cell(rows_, i, "failure_rate"),
                 time_cell(rows_, i, "silent_for"),
                 text_cell(rows_, i, "queues")}};
    }
    Move row_key(int key, const std::string &worker) override
    {
        if (key != 'x' || worker.empty())
            return {};
        if (mode_.is_read_only)
            return say("nothing is changed with --read-only");
        return act(actions::drain(worker, rows_.text(number_of(worker, "worker_id"), "name")));
    }

private:
    Mode mode_;
};

class ExecutorsScreen : public PlainListScreen {
public:
    explicit ExecutorsScreen(Mode mode) : mode_(std::move(mode)) {}
    std::string title() const override { return "executors"; }
    std::string help() const override { return "Enter: its job  s: sort  /: filter  Esc: back"; }
    std::vector<Statement> asks() const override { return {statements::executors()}; }

protected:
    std::string none() const override { return "There are no executors that you may see."; }
    std::vector<Column> columns() const override
    {
        return {{"pid", true},
                {"database", false, 6, 90},
                {"role", false, 6},
                {"status"},
                {"queue", false, 12},
                {"job type", false, 8},
                {"job", true},
                {"try", true},
                {"runs for", true},
                {"progress", true},
                {"ends in", true},
                {"jobs done", true, 0, 90},
                {"waits for", false, 8, 100},
                {"blocked by", false, 6, 100}};
    }
    SheetRow row(std::size_t i) const override
    {
        const std::string status = rows_.text(i, "status");
        return {rows_.text(i, "pid"),
                {text_cell(rows_, i, "pid"),
                 text_cell(rows_, i, "database", Tone::dim),
                 text_cell(rows_, i, "role"),
                 {status, status == "running"        ? Tone::good
                          : status == "unresponsive" ? Tone::bad
                                                     : Tone::dim},
                 text_cell(rows_, i, "queue"),
                 text_cell(rows_, i, "job_type"),
                 text_cell(rows_, i, "job_id"),
                 number_cell(rows_, i, "attempt"),
                 time_cell(rows_, i, "runs_for"),
                 {rows_.get(i, "percent") ? count_text(rows_.number(i, "percent")) + " %" : "-",
                  Tone::plain, rows_.number(i, "percent")},
                 time_cell(rows_, i, "ends_in"),
                 number_cell(rows_, i, "jobs_done"),
                 text_cell(rows_, i, "waits_for", Tone::warning),
                 text_cell(rows_, i, "blocked_by", Tone::bad)}};
    }
    Move row_key(int key, const std::string &pid) override
    {
        const std::size_t i = number_of(pid, "pid");
        if (key != keys::enter || !rows_.get(i, "job_id") || !rows_.get(i, "queue"))
            return {};
        return open(job_screen(mode_, {rows_.text(i, "queue"), ""}, rows_.text(i, "job_id")));
    }

private:
    Mode mode_;
};

class DeadLettersScreen : public PlainListScreen {
public:
    DeadLettersScreen(Mode mode, QueueName queue) : mode_(std::move(mode)), queue_(std::move(queue))
    {
    }
    std::string title() const override { return queue_.name + " dead letters"; }
    std::string help() const override
    {
        const std::string all = only_waiting_ ? "A: all of them  " : "A: only waiting  ";
        return mode_.is_read_only
                   ? "Enter: job  " + all + "s: sort  /: filter  Esc: back"
                   : "Enter: job  R: redrive  D: dismiss  T: redrive its type, until this "
                     "one  X: redrive all  " +
                         all + "s: sort  /: filter  Esc: back";
    }
    std::vector<Statement> asks() const override
    {
        return {statements::dead_letters(queue_, only_waiting_ ? "waiting" : "")};
    }

protected:
    std::string none() const override
    {
        return only_waiting_ ? "No dead letter waits." : "There are no dead letters.";
    }
    std::vector<Column> columns() const override
    {
        return {{"job", true},      {"state"},     {"job type", false, 10},
                {"key", false, 6},  {"age", true}, {"reason", false, 8},
                {"error", false, 8}};
    }
    SheetRow row(std::size_t i) const override
    {
        const std::string state = rows_.text(i, "state");
        return {rows_.text(i, "job_id"),
                {text_cell(rows_, i, "job_id"),
                 {state, state == "waiting" ? Tone::bad : Tone::dim},
                 text_cell(rows_, i, "job_type"),
                 text_cell(rows_, i, "job_key"),
                 time_cell(rows_, i, "age"),
                 text_cell(rows_, i, "reason"),
                 text_cell(rows_, i, "error")}};
    }
    Move row_key(int key, const std::string &id) override
    {
        if (key == 'A') {
            only_waiting_ = !only_waiting_;
            set_place(0);
            return {};
        }
        if (key == keys::enter && !id.empty())
            return open(job_screen(mode_, queue_, id));
        if ((key != 'R' && key != 'D' && key != 'T' && key != 'X') || id.empty())
            return {};
        if (mode_.is_read_only)
            return say("nothing is changed with --read-only");
        if (key == 'X')
            return act(actions::redrive_all(queue_));
        if (key == 'T')
            return act(actions::redrive_all(queue_, died_like(number_of(id, "job_id"))));
        return act(key == 'R' ? actions::redrive(id) : actions::dismiss(id));
    }

private:
    actions::Died died_like(std::size_t i) const
    {
        return {rows_.text(i, "job_type"), rows_.text(i, "died"), rows_.text(i, "until")};
    }

    Mode mode_;
    QueueName queue_;
    bool only_waiting_ = true;
};

// The schedule that runs next comes first.
class SchedulesScreen : public PlainListScreen {
public:
    std::string title() const override { return "schedules"; }
    std::string help() const override
    {
        return "Enter: what went wrong  s: sort  /: filter  Esc: back";
    }
    std::vector<Statement> asks() const override { return {statements::schedules()}; }

protected:
    std::string none() const override { return "There are no schedules that you may see."; }
    std::vector<Column> columns() const override
    {
        return {{"schedule", false, 10}, {"queue", false, 8, 70}, {"job type", false, 8, 100},
                {"when", false, 8, 90},  {"next in", true},       {"at"},
                {"zone", false, 4, 80},  {"last", true, 0, 60},   {"did", false, 6}};
    }
    SheetRow row(std::size_t i) const override
    {
        const bool is_active = rows_.is_true(i, "is_active");
        return {key_of(i),
                {text_cell(rows_, i, "name"), text_cell(rows_, i, "queue"),
                 text_cell(rows_, i, "job_type"), text_cell(rows_, i, "cron", Tone::dim),
                 time_cell(rows_, i, "next_in"),
                 is_active ? text_cell(rows_, i, "local_time") : Cell{"inactive", Tone::warning},
                 text_cell(rows_, i, "zone", Tone::dim), time_cell(rows_, i, "last_ago"),
                 text_cell(rows_, i, "last_action",
                           rows_.get(i, "last_error") ? Tone::bad : Tone::plain)}};
    }
    Move row_key(int key, const std::string &chosen) override
    {
        if (key != keys::enter || chosen.empty())
            return {};
        for (std::size_t i = 0; i < rows_.size(); ++i)
            if (key_of(i) == chosen && rows_.get(i, "last_error"))
                return say(rows_.text(i, "last_error"));
        return say("nothing went wrong in its last run");
    }

private:
    // Schedules of different queues may have the same name.
    std::string key_of(std::size_t i) const
    {
        return rows_.text(i, "queue") + "/" + rows_.text(i, "name");
    }
};

// hipq's settings, with their values and meanings.
class SettingsScreen : public PlainListScreen {
public:
    std::string title() const override { return "settings"; }
    std::string help() const override { return "/: filter  Esc: back"; }
    std::vector<Statement> asks() const override { return {statements::all_settings()}; }

protected:
    std::string none() const override { return "hipq is not loaded here: it has no settings."; }
    std::vector<Column> columns() const override
    {
        return {{"setting", false, 20}, {"value", false, 6}, {"what it does", false, 20}};
    }
    SheetRow row(std::size_t i) const override
    {
        return {rows_.text(i, "name"),
                {text_cell(rows_, i, "name"), text_cell(rows_, i, "value"),
                 text_cell(rows_, i, "description")}};
    }
    Move row_key(int key, const std::string &name) override
    {
        if (key != keys::enter || name.empty())
            return {};
        return say(rows_.text(number_of(name, "name"), "description"));
    }
};

// With many queues this view takes longer than the others, so it is refreshed less often.
class AlertsScreen : public Screen {
public:
    std::string title() const override { return "alerts"; }
    std::string help() const override { return "up/down: scroll  Esc: back"; }
    std::vector<Statement> asks() const override { return {statements::alerts()}; }
    void take(const std::vector<Answer> &answers) override { answer_ = answers.front(); }
    double rests() const override { return 10; }
    Page page(int width) const override { return {{}, body(width), -1}; }
    int lines(int width) const override { return static_cast<int>(body(width).size()); }
    Move key(int) override { return {}; }

private:
    std::vector<Line> body(int width) const
    {
        std::vector<Line> lines;
        const auto add = [&](const std::string &text, const std::string &before, Tone tone) {
            for (const std::string &line : wrap(text, width - width_of(before)))
                lines.push_back(plain(before + line, tone));
        };
        if (answer_.sqlstate == "42501")
            add("Alerts tell of the whole server: they are for members of pg_monitor, and your "
                "role is none.",
                "", Tone::bad);
        else if (!answer_)
            add(answer_.error, "", Tone::bad);
        else if (answer_.rows.empty())
            add("There are no alerts.", "", Tone::good);
        for (std::size_t i = 0; i < answer_.rows.size(); ++i) {
            const bool is_alarm = answer_.rows.text(i, "severity") == "alarm";
            lines.push_back({{answer_.rows.text(i, "alert"), is_alarm ? Tone::bad : Tone::warning},
                             {"   " + answer_.rows.text(i, "severity") + "   " +
                                  plural(answer_.rows.number(i, "times"), "time") + ", the last " +
                                  time_cell(answer_.rows, i, "age").text + " ago",
                              Tone::dim}});
            add(answer_.rows.text(i, "detail"), "  ", Tone::plain);
            add(answer_.rows.text(i, "hint"), "  ", Tone::good);
            lines.emplace_back();
        }
        return lines;
    }

    Answer answer_;
};

class HelpScreen : public Screen {
public:
    std::string title() const override { return "help"; }
    std::string help() const override { return "up/down: scroll  Esc: back"; }
    std::vector<Statement> asks() const override { return {}; }
    void take(const std::vector<Answer> &) override {}
    Page page(int) const override
    {
        Page page;
        for (const char *line : text)
            page.body.push_back(plain(line));
        return page;
    }
    int lines(int) const override { return static_cast<int>(std::size(text)); }
    Move key(int) override { return {}; }

private:
    static constexpr const char *text[] = {
        "On every screen",
        "  up, down, PgUp, PgDn or space, Home, End   go",
        "  Enter          look into what is chosen",
        "  Esc, Backspace back; q quits on the first screen, and goes back on the others",
        "  /              only rows that contain a text; in a list of jobs: an id or a key",
        "  s, S           sort by the next column, the one before",
        "  z              stand still, and go on",
        "  ?              this",
        "",
        "Queues",
        "  Enter queue   f who fills it   j jobs   d dead letters   p pause, or resume",
        "  g a job by its id   G graphs   w workers   e executors   n schedules",
        "  a alerts   t settings",
        "A queue",
        "  Enter jobs of the type   f who fills it   j all jobs   p pause the type   P the queue",
        "Who fills a queue",
        "  Enter why their first job waits   p pause them, or resume: a throttle key, or a type",
        "Graphs, a graph",
        "  Enter the jobs of the graph, in the order of its layers; the job",
        "Jobs",
        "  1 newest   2 unfinished, the oldest first   3 running   4 failed",
        "  right, left    the next page, the one before   c cancel   r run again",
        "A job",
        "  c cancel   r run again   R redrive its dead letter   D dismiss it   G its graph",
        "Dead letters",
        "  R redrive   D dismiss   X redrive all   A all of them, or those that wait",
        "  T redrive all of its type that are not newer than this one",
        "Workers, schedules",
        "  x drain the worker: no more jobs for it   Enter what went wrong in the last run",
        "",
        "Whatever changes something asks before. hipq.top() in psql shows the first screen.",
        "backlog is an estimate; waits and failures are of the last hour.",
    };
};

}  // namespace

std::shared_ptr<Screen> workers_screen(const Mode &mode)
{
    return std::make_shared<WorkersScreen>(mode);
}

std::shared_ptr<Screen> executors_screen(const Mode &mode)
{
    return std::make_shared<ExecutorsScreen>(mode);
}

std::shared_ptr<Screen> dead_letters_screen(const Mode &mode, const QueueName &queue)
{
    return std::make_shared<DeadLettersScreen>(mode, queue);
}

std::shared_ptr<Screen> schedules_screen()
{
    return std::make_shared<SchedulesScreen>();
}

std::shared_ptr<Screen> alerts_screen()
{
    return std::make_shared<AlertsScreen>();
}

std::shared_ptr<Screen> settings_screen()
{
    return std::make_shared<SettingsScreen>();
}

std::shared_ptr<Screen> help_screen()
{
    return std::make_shared<HelpScreen>();
}

}  // namespace hipq::top
