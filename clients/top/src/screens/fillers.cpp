// The contents of a queue: its unfinished jobs by job type and throttle key, and their conditions.
#include "screens/actions.hpp"
#include "screens/screens.hpp"
#include "screens/text.hpp"

namespace hipq::top {

namespace {

class FillersScreen : public ListScreen {
public:
    FillersScreen(Mode mode, QueueName queue) : mode_(std::move(mode)), queue_(std::move(queue)) {}

    std::string title() const override { return queue_.name + " who fills it"; }
    std::string help() const override
    {
        return mode_.is_read_only
                   ? "Enter: why their first job waits  s: sort  /: filter  Esc: back"
                   : "Enter: why their first job waits  p: pause them  s: sort  "
                     "/: filter  Esc: back";
    }
    std::vector<Statement> asks() const override { return {statements::fillers_of(queue_)}; }
    void take(const std::vector<Answer> &answers) override
    {
        if (!all_well(answers))
            return;
        rows_ = answers.front().rows;
        Sheet sheet{{{"job type", false, 10},
                     {"throttle key", false, 12},
                     {"jobs", true},
                     {"%", true},
                     {"last minute", true},
                     {"oldest", true},
                     {"waits for", false, 12}},
                    {}};
        for (std::size_t i = 0; i < rows_.size(); ++i)
            sheet.rows.push_back(row_of(i));
        show(std::move(sheet));
    }

protected:
    std::vector<Line> head(int) const override
    {
        return {plain(rows_.empty() ? "The queue has no unfinished jobs."
                                    : "unfinished jobs, estimated where there are very many",
                      Tone::dim)};
    }

    Move row_key(int key, const std::string &number) override
    {
        if (number.empty())
            return {};
        const auto i = static_cast<std::size_t>(std::stoul(number));
        if (key == keys::enter && rows_.get(i, "first_job"))
            return open(job_screen(mode_, queue_, rows_.text(i, "first_job")));
        if (key != 'p')
            return {};
        if (mode_.is_read_only)
            return say("nothing is changed with --read-only");
        const actions::Place place{queue_.name, rows_.text(i, "job_type"),
                                   rows_.text(i, "throttle_key")};
        return act(rows_.is_true(i, "is_paused") ? actions::resume(place) : actions::pause(place));
    }

private:
    SheetRow row_of(std::size_t i) const
    {
        return {std::to_string(i),
                {text_cell(rows_, i, "job_type"), text_cell(rows_, i, "throttle_key"),
                 number_cell(rows_, i, "jobs"), number_cell(rows_, i, "percent"),
                 number_cell(rows_, i, "last_minute"), time_cell(rows_, i, "oldest"),
                 text_cell(rows_, i, "waits_for",
                           rows_.is_true(i, "is_paused") ? Tone::warning : Tone::plain)}};
    }

    Mode mode_;
    QueueName queue_;
    Rows rows_;
};

}  // namespace

std::shared_ptr<Screen> fillers_screen(const Mode &mode, const QueueName &queue)
{
    return std::make_shared<FillersScreen>(mode, queue);
}

}  // namespace hipq::top
