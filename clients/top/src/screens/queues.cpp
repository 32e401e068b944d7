// The first screen: all queues.
#include "screens/actions.hpp"
#include "screens/screens.hpp"
#include "screens/text.hpp"

namespace hipq::top {

namespace {

// hipq._held() counts no further.
constexpr double most_held = 1000;

class QueuesScreen : public ListScreen {
public:
    explicit QueuesScreen(Mode mode) : mode_(std::move(mode)) {}

    std::string title() const override { return "queues"; }
    std::string help() const override
    {
        return mode_.is_read_only
                   ? "Enter: queue  f: who fills it  j: jobs  g: job by id  d: dead letters  "
                     "G: graphs  w e n a t: workers, executors, schedules, alerts, settings  s: "
                     "sort  "
                     "/: filter  ?: help  q: quit"
                   : "Enter: queue  f: who fills it  j: jobs  g: job by id  p: pause  d: dead "
                     "letters  ?: help  G: graphs  w e n a t: workers, executors, schedules, "
                     "alerts, settings  "
                     "s: sort  /: filter  q: quit";
    }
    std::vector<Statement> asks() const override
    {
        return {statements::top(mode_.sort, mode_.lines)};
    }
    void take(const std::vector<Answer> &answers) override
    {
        if (all_well(answers))
            show_queues(answers.front().rows);
    }

protected:
    // The first row of hipq.top() is for all queues.
    std::vector<Line> head(int) const override
    {
        if (all_.empty())
            return {};
        Line line{{all_.text(0, "queue"), Tone::strong}};
        line.push_back({"   backlog " + backlog_cell(all_, 0).text});
        for (const auto &[name, column] :
             {std::pair("running", "running"), {"per min", "per_min"}, {"failed", "failed"}})
            line.push_back({std::string("   ") + name + " " + count_text(all_.number(0, column))});
        // "2 alerts, 6 queues"
        const std::string state = all_.text(0, "state");
        const std::size_t comma = state.find(", ");
        if (comma != std::string::npos)
            line.push_back({"   " + state.substr(0, comma), Tone::bad});
        line.push_back(
            {"   " + state.substr(comma == std::string::npos ? 0 : comma + 2), Tone::dim});
        return {line};
    }

    Move row_key(int key, const std::string &queue) override
    {
        switch (key) {
        case 'w':
            return open(workers_screen(mode_));
        case 'e':
            return open(executors_screen(mode_));
        case 'n':
            return open(schedules_screen());
        case 'a':
            return open(alerts_screen());
        case 'G':
            return open(graphs_screen(mode_));
        case 't':
            return open(settings_screen());
        case 'g':
            return prompt("Id of the job: ", [mode = mode_](const std::string &id) {
                return id.empty() ? Move{} : open(found_job_screen(mode, id));
            });
        default:
            return queue.empty() ? Move{} : queue_key(key, queue);
        }
    }

private:
    Move queue_key(int key, const std::string &queue)
    {
        switch (key) {
        case keys::enter:
        case keys::right:
            return open(queue_screen(mode_, {queue, ""}));
        case 'j':
            return open(jobs_screen(mode_, {queue, ""}, "", JobKind::newest));
        case 'd':
            return open(dead_letters_screen(mode_, {queue, ""}));
        case 'f':
            return open(fillers_screen(mode_, {queue, ""}));
        case 'p':
            if (mode_.is_read_only)
                return say("nothing is changed with --read-only");
            return act(is_paused(queue) ? actions::resume({queue}) : actions::pause({queue}));
        default:
            return {};
        }
    }

    bool is_paused(const std::string &queue) const
    {
        for (std::size_t i = 0; i < queues_.size(); ++i)
            if (queues_.text(i, "queue") == queue)
                return queues_.text(i, "state") == "paused";
        return false;
    }

    void show_queues(const Rows &rows)
    {
        all_ = {rows.names, {}};
        queues_ = {rows.names, {}};
        for (std::size_t i = 0; i < rows.size(); ++i)
            (i == 0 ? all_ : queues_).rows.push_back(rows.rows[i]);
        Sheet sheet{{{"queue", false, 12},
                     {"backlog", true},
                     {"running", true},
                     {"per min", true, 0, 46},
                     {"failed", true, 0, 54},
                     {"p50", true, 0, 70},
                     {"p99", true, 0, 62},
                     {"oldest", true},
                     {"state"},
                     {"held", true}},
                    {}};
        for (std::size_t i = 0; i < queues_.size(); ++i)
            sheet.rows.push_back(row_of(i));
        if (!has_held())
            without_last_column(sheet);
        show(std::move(sheet));
    }

    // The last column is there only where jobs wait for others.
    bool has_held() const
    {
        for (std::size_t i = 0; i < queues_.size(); ++i)
            if (queues_.number(i, "held") > 0)
                return true;
        return false;
    }

    Cell held_cell(std::size_t i) const
    {
        Cell held = number_cell(queues_, i, "held");
        if (held.number == most_held)
            held.text += "+";
        return held;
    }

    SheetRow row_of(std::size_t i) const
    {
        Cell failed = number_cell(queues_, i, "failed");
        if (failed.number > 0)
            failed.tone = Tone::bad;
        const std::string state = queues_.text(i, "state");
        return {queues_.text(i, "queue"),
                {text_cell(queues_, i, "queue"),
                 backlog_cell(queues_, i),
                 number_cell(queues_, i, "running"),
                 number_cell(queues_, i, "per_min"),
                 failed,
                 time_cell(queues_, i, "p50"),
                 time_cell(queues_, i, "p99"),
                 time_cell(queues_, i, "oldest"),
                 {state, tone_of_state(state)},
                 held_cell(i)}};
    }

    Mode mode_;
    Rows all_;
    Rows queues_;
};

}  // namespace

std::shared_ptr<Screen> queues_screen(const Mode &mode)
{
    return std::make_shared<QueuesScreen>(mode);
}

}  // namespace hipq::top
