// A queue: its state, its pauses, and its job types.
#include "screens/actions.hpp"
#include "screens/screens.hpp"
#include "screens/text.hpp"

#include <cstdio>

namespace hipq::top {

namespace {

class QueueScreen : public ListScreen {
public:
    QueueScreen(Mode mode, QueueName queue) : mode_(std::move(mode)), queue_(std::move(queue)) {}

    std::string title() const override { return queue_.name; }
    std::string help() const override
    {
        return mode_.is_read_only
                   ? "Enter: jobs of the type  f: who fills it  j: all jobs  d: dead letters  s: "
                     "sort  "
                     "Esc: back"
                   : "Enter: jobs of the type  f: who fills it  j: all jobs  d: dead letters  "
                     "p: pause the type  P: pause the queue  s: sort  Esc: back";
    }
    std::vector<Statement> asks() const override
    {
        std::vector<Statement> asked{statements::activity_of(queue_), statements::types_of(queue_),
                                     statements::pauses_of(queue_)};
        if (!queue_.table.empty())
            asked.push_back(statements::held_in(queue_));
        return asked;
    }
    void take(const std::vector<Answer> &answers) override
    {
        if (!all_well(answers))
            return;
        activity_ = answers[0].rows;
        types_ = answers[1].rows;
        pauses_ = answers[2].rows;
        held_ = answers.size() > 3 ? answers[3].rows.number(0, "held") : 0;
        queue_.table = activity_.text(0, "readable_table");
        show_types();
    }

protected:
    std::vector<Line> head(int width) const override
    {
        if (activity_.empty())
            return {plain("There is no such queue, or your role may not see it.", Tone::warning)};
        std::vector<Line> lines{how_it_does(), limits()};
        if (activity_.get(0, "rate_limit"))
            lines.push_back(plain(rate()));
        for (std::size_t i = 0; i < pauses_.size(); ++i)
            for (const std::string &line : wrap(pause_text(i), width))
                lines.push_back(plain(line, Tone::warning));
        lines.emplace_back();
        return lines;
    }

    Move row_key(int key, const std::string &type) override
    {
        switch (key) {
        case keys::enter:
        case keys::right:
            return open(jobs_screen(mode_, queue_, type, JobKind::newest));
        case 'j':
            return open(jobs_screen(mode_, queue_, "", JobKind::newest));
        case 'd':
            return open(dead_letters_screen(mode_, queue_));
        case 'f':
            return open(fillers_screen(mode_, queue_));
        case 'p':
        case 'P':
            return pause(key == 'P' ? "" : type);
        default:
            return {};
        }
    }

private:
    Move pause(const std::string &type)
    {
        if (mode_.is_read_only)
            return say("nothing is changed with --read-only");
        const bool is_paused = has_pause(type);
        return act(is_paused ? actions::resume({queue_.name, type})
                             : actions::pause({queue_.name, type}));
    }

    // The type's own pause; a pause of the queue is not one of the type.
    bool has_pause(const std::string &type) const
    {
        for (std::size_t i = 0; i < pauses_.size(); ++i)
            if (!pauses_.is_true(i, "is_of_instance") && !pauses_.get(i, "throttle_key") &&
                pauses_.text(i, "job_type") == type)
                return true;
        return false;
    }

    Line how_it_does() const
    {
        const std::string state = activity_.text(0, "state");
        Line line{{state, tone_of_state(state)}};
        line.push_back({"   backlog " + backlog_cell(activity_, 0).text});
        if (held_ > 0)
            line.push_back({(held_ < statements::most_held ? "   held " : "   held at least ") +
                            count_text(held_)});
        for (const auto &[name, column] : {std::pair("running", "running_jobs"),
                                           {"per min", "finished_per_minute"},
                                           {"failed", "failed"},
                                           {"retried", "retried"}})
            line.push_back(
                {std::string("   ") + name + " " + count_text(activity_.number(0, column))});
        return line;
    }

    Line limits() const
    {
        const Value limit = activity_.get(0, "throttle_limit");
        return {{"waits p50 " + time_cell(activity_, 0, "wait_p50").text + ", p99 " +
                 time_cell(activity_, 0, "wait_p99").text + ", the oldest " +
                 time_cell(activity_, 0, "oldest").text +
                 (activity_.get(0, "empty_in")
                      ? ", empty in " + time_cell(activity_, 0, "empty_in").text + " at this pace"
                      : "") +
                 (limit ? "   throttle " + activity_.text(0, "throttle_used") + " of " + *limit
                        : "   no throttle limit")}};
    }

    std::string rate() const
    {
        const Cell turn = turn_cell(activity_, 0);
        return "rate " + rate_cell(activity_, 0).text +
               (turn.number ? ", next turn in " + turn.text : "");
    }

    std::string pause_text(std::size_t i) const
    {
        std::string what = "the queue";
        if (pauses_.is_true(i, "is_of_instance"))
            what = "the instance";
        else if (pauses_.get(i, "throttle_key"))
            what = "key " + pauses_.text(i, "throttle_key") + " of type " +
                   pauses_.text(i, "job_type");
        else if (pauses_.get(i, "job_type"))
            what = "type " + pauses_.text(i, "job_type");
        std::string text = "paused: " + what + ", for " + time_cell(pauses_, i, "paused_for").text;
        if (pauses_.get(i, "ends_in"))
            text += ", ends in " + time_cell(pauses_, i, "ends_in").text;
        text += ", by " + pauses_.text(i, "paused_by");
        if (pauses_.get(i, "reason"))
            text += ": " + pauses_.text(i, "reason");
        if (pauses_.get(i, "crashes"))
            text += " (hipq holds it after " + pauses_.text(i, "crashes") + " crashes)";
        return text;
    }

    void show_types()
    {
        const int wide = has_rate() ? 140 : 100;  // rates are more important than medians
        Sheet sheet{{{"job type", false, 14},
                     {"handler", false, 0, 90},
                     {"done", true},
                     {"failed", true},
                     {"retried", true, 0, 80},
                     {"wait p50", true, 0, wide},
                     {"wait p99", true},
                     {"run p50", true, 0, wide},
                     {"run p99", true},
                     {"limit", true, 0, 90},
                     {"state"},
                     {"rate", false, 12},
                     {"turn in", true}},
                    {}};
        for (std::size_t i = 0; i < types_.size(); ++i)
            sheet.rows.push_back(row_of(i));
        if (!has_rate()) {
            without_last_column(sheet);
            without_last_column(sheet);
        }
        show(std::move(sheet));
    }

    // The last two columns are there only where a job type has a rate.
    bool has_rate() const
    {
        for (std::size_t i = 0; i < types_.size(); ++i)
            if (types_.get(i, "rate_limit"))
                return true;
        return false;
    }

    Cell state_cell(std::size_t i) const
    {
        const bool is_outside = types_.text(i, "handler_kind") == "notify";
        if (types_.is_true(i, "is_paused"))
            return {"paused", Tone::warning};
        if (types_.text(i, "breaker_state") != "closed")
            return {breaker_text(i), Tone::warning};
        if (is_outside && types_.number(i, "workers") == 0)
            return {"no worker", Tone::bad};
        if (is_outside)
            return {plural(types_.number(i, "workers"), "worker"), Tone::good};
        if (types_.text(i, "handler_kind") == "none")
            return {"no handler", Tone::bad};
        return {"", Tone::dim};
    }

    std::string breaker_text(std::size_t i) const
    {
        const std::string state = types_.text(i, "breaker_state");
        const bool has_end = state == "open" && types_.number(i, "breaker_ends_in") > 0;
        return "breaker " + state +
               (has_end ? " for " + time_cell(types_, i, "breaker_ends_in").text : "");
    }

    SheetRow row_of(std::size_t i) const
    {
        Cell failed = number_cell(types_, i, "failed");
        if (failed.number > 0)
            failed.tone = Tone::bad;
        const Value limit = types_.get(i, "throttle_limit");
        return {
            types_.text(i, "job_type"),
            {text_cell(types_, i, "job_type"),
             text_cell(types_, i, "handler_kind", Tone::dim),
             number_cell(types_, i, "succeeded"),
             failed,
             number_cell(types_, i, "retried"),
             time_cell(types_, i, "wait_p50"),
             time_cell(types_, i, "wait_p99"),
             time_cell(types_, i, "run_p50"),
             time_cell(types_, i, "run_p99"),
             {limit ? count_text(types_.number(i, "throttle_used")) + "/" +
                          count_text(types_.number(i, "throttle_limit"))
                    : "-",
              Tone::plain, limit ? std::optional(types_.number(i, "throttle_used")) : std::nullopt},
             state_cell(i),
             rate_cell(types_, i),
             turn_cell(types_, i)}};
    }

    Mode mode_;
    QueueName queue_;
    Rows activity_;
    double held_ = 0;
    Rows types_;
    Rows pauses_;
};

}  // namespace

std::shared_ptr<Screen> queue_screen(const Mode &mode, const QueueName &queue)
{
    return std::make_shared<QueueScreen>(mode, queue);
}

}  // namespace hipq::top
