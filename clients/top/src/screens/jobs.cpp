// The jobs of a queue, a page at a time.
#include "screens/actions.hpp"
#include "screens/screens.hpp"
#include "screens/text.hpp"

#include <algorithm>
#include <cctype>

namespace hipq::top {

namespace {

const char *name_of(JobKind kind)
{
    switch (kind) {
    case JobKind::newest:
        return "newest";
    case JobKind::unfinished:
        return "unfinished, the oldest first";
    case JobKind::running:
        return "running";
    case JobKind::failed:
        return "failed";
    }
    return "";
}

bool is_number(const std::string &text)
{
    return !text.empty() && text.size() <= 18 &&
           std::all_of(text.begin(), text.end(),
                       [](unsigned char c) { return std::isdigit(c) != 0; });
}

class JobsScreen : public ListScreen {
public:
    JobsScreen(Mode mode, QueueName queue, const std::string &job_type, JobKind kind)
        : mode_(std::move(mode)), queue_(std::move(queue))
    {
        page_.kind = kind;
        page_.job_type = job_type;
    }

    std::string title() const override { return queue_.name + " jobs"; }
    std::string help() const override
    {
        const std::string change = mode_.is_read_only ? "" : "c: cancel  r: run again  ";
        return "Enter: job  " + change +
               "1-4: newest, unfinished, running, failed  right/left: page  /: id or key  Esc: "
               "back";
    }

    std::vector<Statement> asks() const override
    {
        if (queue_.table.empty())
            return {statements::table_of_queue(queue_.name)};
        if (is_number(wanted_))
            return {statements::jobs_by_id(queue_, wanted_),
                    statements::jobs_by_key(queue_, wanted_)};
        if (!wanted_.empty())
            return {statements::jobs_by_key(queue_, wanted_)};
        return {statements::jobs_of(queue_, page_)};
    }
    void take(const std::vector<Answer> &answers) override
    {
        asks_on_ = false;
        if (!all_well(answers))
            return;
        if (queue_.table.empty()) {
            queue_.table = answers.front().rows.text(0, "table_name");
            asks_on_ = !queue_.table.empty();
            if (!asks_on_)
                complain({{}, "There is no such queue, or your role may not see it.", "", ""});
            return;
        }
        jobs_ = answers.front().rows;
        for (std::size_t i = 1; i < answers.size(); ++i)
            jobs_.rows.insert(jobs_.rows.end(), answers[i].rows.rows.begin(),
                              answers[i].rows.rows.end());
        show_jobs();
    }
    bool asks_on() const override { return asks_on_; }

    Move key(int key) override
    {
        if (key == '/')
            return prompt("Id or key of the job: ", [this](const std::string &text) {
                wanted_ = text;
                restart();
                return Move{};
            });
        return ListScreen::key(key);
    }

protected:
    bool can_sort() const override { return false; }

    std::vector<Line> head(int) const override
    {
        Line line{{wanted_.empty() ? name_of(page_.kind) : "id or key " + wanted_, Tone::strong}};
        if (!page_.job_type.empty())
            line.push_back({"   only type " + page_.job_type, Tone::warning});
        if (!before_.empty())
            line.push_back({"   page " + std::to_string(before_.size() + 1), Tone::dim});
        if (page_.kind == JobKind::failed && wanted_.empty())
            line.push_back({"   of the 5000 latest to end", Tone::dim});
        if (jobs_.empty())
            line.push_back({"   there are none", Tone::dim});
        return {line};
    }

    Move row_key(int key, const std::string &id) override
    {
        if (key >= '1' && key <= '4') {
            page_.kind = static_cast<JobKind>(key - '1');
            wanted_.clear();
            restart();
            return {};
        }
        switch (key) {
        case keys::right:
        case ']':
            next_page();
            return {};
        case keys::left:
        case '[':
            previous_page();
            return {};
        default:
            return id.empty() ? Move{} : job_key(key, id);
        }
    }

private:
    Move job_key(int key, const std::string &id)
    {
        if (key == keys::enter)
            return open(job_screen(mode_, queue_, id));
        if (key != 'c' && key != 'r')
            return {};
        if (mode_.is_read_only)
            return say("nothing is changed with --read-only");
        return act(key == 'c' ? actions::cancel(queue_, id) : actions::retry(queue_, id));
    }

    void restart()
    {
        before_.clear();
        page_.after.clear();
        set_place(0);
    }
    void next_page()
    {
        if (!wanted_.empty() || static_cast<int>(jobs_.size()) < page_.lines)
            return;
        before_.push_back(page_.after);
        page_.after = jobs_.text(jobs_.size() - 1, "id");
        set_place(0);
    }
    void previous_page()
    {
        if (before_.empty())
            return;
        page_.after = before_.back();
        before_.pop_back();
        set_place(0);
    }

    void show_jobs()
    {
        Sheet sheet{{{"id", true},
                     {"job type", false, 10},
                     {"key", false, 6},
                     {"outcome"},
                     {"try", true},
                     {"prio", true, 0, 90},
                     {"age", true},
                     {"due", true},
                     {"error", false, 8}},
                    {}};
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
            const std::string outcome = jobs_.text(i, "outcome");
            sheet.rows.push_back({jobs_.text(i, "id"),
                                  {text_cell(jobs_, i, "id"),
                                   text_cell(jobs_, i, "job_type"),
                                   text_cell(jobs_, i, "job_key"),
                                   {outcome, tone_of_outcome(outcome)},
                                   number_cell(jobs_, i, "attempt"),
                                   number_cell(jobs_, i, "priority"),
                                   time_cell(jobs_, i, "age"),
                                   due_cell(i),
                                   text_cell(jobs_, i, "error")}});
        }
        show(std::move(sheet));
    }

    // For a waiting job: since when it is due, or in how long it will be.
    Cell due_cell(std::size_t i) const
    {
        if (jobs_.text(i, "outcome").compare(0, 7, "waiting") != 0 &&
            jobs_.text(i, "outcome") != "waits to retry")
            return {"-", Tone::dim};
        const double due_for = jobs_.number(i, "due_for");
        return due_for < 0 ? Cell{"in " + duration_text(-due_for), Tone::dim}
                           : Cell{duration_text(due_for) + " ago"};
    }

    Mode mode_;
    QueueName queue_;
    JobPage page_;
    std::vector<std::string> before_;  // where the previous pages begin
    std::string wanted_;
    Rows jobs_;
    bool asks_on_ = false;
};

}  // namespace

std::shared_ptr<Screen> jobs_screen(const Mode &mode, const QueueName &queue,
                                    const std::string &job_type, JobKind kind)
{
    return std::make_shared<JobsScreen>(mode, queue, job_type, kind);
}

}  // namespace hipq::top
