// Graphs: a list of the newest, and the jobs of one in the order of its layers.
#include "screens/screens.hpp"
#include "screens/text.hpp"

#include <map>

namespace hipq::top {

namespace {

// Graphs came with release 0.3.0.
const Answer &in_words(const Answer &answer, Answer &other)
{
    if (answer.sqlstate != "42P01" && answer.sqlstate != "42883")
        return answer;
    other.error = "The extension of this database is too old for graphs";
    other.hint = "ALTER EXTENSION hipq UPDATE";
    return other;
}

class GraphsScreen : public ListScreen {
public:
    explicit GraphsScreen(Mode mode) : mode_(std::move(mode)) {}
    std::string title() const override { return "graphs"; }
    std::string help() const override
    {
        return "Enter: jobs of the graph  s: sort  /: filter  Esc: back";
    }
    std::vector<Statement> asks() const override { return {statements::graphs()}; }
    double rests() const override { return 5; }
    void take(const std::vector<Answer> &answers) override
    {
        Answer other;
        if (!all_well({in_words(answers.front(), other)}))
            return;
        rows_ = answers.front().rows;
        Sheet sheet{{{"graph", true},
                     {"state"},
                     {"jobs", true},
                     {"waiting", true, 0, 60},
                     {"running", true, 0, 60},
                     {"succeeded", true, 0, 70},
                     {"failed", true},
                     {"skipped", true, 0, 70},
                     {"age", true},
                     {"took", true, 0, 60},
                     {"its jobs", false, 12}},
                    {}};
        for (std::size_t i = 0; i < rows_.size(); ++i)
            sheet.rows.push_back(row_of(i));
        show(std::move(sheet));
    }

protected:
    std::vector<Line> head(int) const override
    {
        if (rows_.names.empty())
            return {};
        return {plain(rows_.empty() ? "There are no graphs of jobs that you may read."
                                    : "the 50 newest; hipq.enqueue_graph() makes them",
                      Tone::dim)};
    }
    Move row_key(int key, const std::string &graph) override
    {
        if ((key != keys::enter && key != keys::right) || graph.empty())
            return {};
        return open(graph_screen(mode_, graph));
    }

private:
    Cell state_of(std::size_t i) const
    {
        if (rows_.get(i, "ended_time"))
            return rows_.number(i, "failed") > 0 ? Cell{"failed", Tone::bad}
                                                 : Cell{"succeeded", Tone::good};
        const bool has_begun = rows_.number(i, "waiting") < rows_.number(i, "jobs");
        return has_begun ? Cell{"running", Tone::good} : Cell{"waiting"};
    }
    SheetRow row_of(std::size_t i) const
    {
        Cell jobs = number_cell(rows_, i, "jobs");
        if (jobs.number == statements::most_counted)
            jobs.text += "+";
        Cell failed = number_cell(rows_, i, "failed");
        if (failed.number > 0)
            failed.tone = Tone::bad;
        Cell names = text_cell(rows_, i, "names");
        if (jobs.number > 4)
            names.text += ", ...";
        return {rows_.text(i, "graph_id"),
                {text_cell(rows_, i, "graph_id"), state_of(i), jobs,
                 number_cell(rows_, i, "waiting"), number_cell(rows_, i, "running"),
                 number_cell(rows_, i, "succeeded"), failed, number_cell(rows_, i, "skipped"),
                 time_cell(rows_, i, "age"), time_cell(rows_, i, "took"), names}};
    }

    Mode mode_;
    Rows rows_;
};

std::vector<std::string> names_in(const std::string &joined)
{
    std::vector<std::string> names;
    for (std::size_t at = 0; at < joined.size();) {
        const std::size_t end = std::min(joined.find('\x1f', at), joined.size());
        names.push_back(joined.substr(at, end - at));
        at = end + 1;
    }
    return names;
}

// The layer of each job: the one after the last of the jobs that it comes after.
class Layers {
public:
    explicit Layers(const Rows &jobs) : layers_(jobs.size(), 0)
    {
        std::map<std::string, std::size_t> places;
        for (std::size_t i = 0; i < jobs.size(); ++i)
            places.emplace(jobs.text(i, "name"), i);
        std::vector<std::vector<std::size_t>> later(jobs.size());
        std::vector<std::size_t> missing(jobs.size(), 0);
        for (std::size_t i = 0; i < jobs.size(); ++i)
            for (const std::string &name : names_in(jobs.text(i, "after")))
                if (const auto found = places.find(name); found != places.end()) {
                    later[found->second].push_back(i);
                    ++missing[i];
                }
        spread(later, missing);
    }
    int of(std::size_t job) const { return layers_[job]; }

private:
    void spread(const std::vector<std::vector<std::size_t>> &later,
                std::vector<std::size_t> &missing)
    {
        std::vector<std::size_t> ready;
        for (std::size_t i = 0; i < layers_.size(); ++i)
            if (missing[i] == 0)
                ready.push_back(i);
        while (!ready.empty()) {
            const std::size_t job = ready.back();
            ready.pop_back();
            for (const std::size_t next : later[job]) {
                layers_[next] = std::max(layers_[next], layers_[job] + 1);
                if (--missing[next] == 0)
                    ready.push_back(next);
            }
        }
    }

    std::vector<int> layers_;
};

class GraphScreen : public ListScreen {
public:
    GraphScreen(Mode mode, std::string id) : mode_(std::move(mode)), id_(std::move(id)) {}
    std::string title() const override
    {
        return "graph " + (jobs_.empty() ? id_ : jobs_.text(0, "graph_id"));
    }
    std::string help() const override { return "Enter: job  s: sort  /: filter  Esc: back"; }
    std::vector<Statement> asks() const override { return {statements::graph_jobs(id_)}; }
    double rests() const override { return jobs_.size() > 100 ? 10 : 0; }
    void take(const std::vector<Answer> &answers) override
    {
        Answer other;
        if (!all_well({in_words(answers.front(), other)}))
            return;
        jobs_ = answers.front().rows;
        show_jobs();
    }

protected:
    std::vector<Line> head(int) const override
    {
        if (jobs_.empty())
            return {plain("Job " + id_ + " is in no graph, or your role may not read it.",
                          Tone::warning)};
        Line line{{plural(static_cast<double>(jobs_.size()), "job"), Tone::strong}};
        if (jobs_.size() == statements::most_graph_jobs)
            line.push_back({", and more", Tone::warning});
        std::map<std::string, int> counts;
        for (std::size_t i = 0; i < jobs_.size(); ++i)
            ++counts[jobs_.text(i, "outcome")];
        for (const auto &[outcome, count] : counts)
            line.push_back({"   " + outcome + " " + count_text(count), tone_of_outcome(outcome)});
        return {line};
    }
    Move row_key(int key, const std::string &number) override
    {
        if ((key != keys::enter && key != keys::right) || number.empty())
            return {};
        const auto i = static_cast<std::size_t>(std::stoul(number));
        return open(job_screen(mode_, {jobs_.text(i, "queue"), ""}, jobs_.text(i, "job_id")));
    }

private:
    void show_jobs()
    {
        Sheet sheet{{{"layer", true},
                     {"name", false, 10},
                     {"outcome"},
                     {"after", false, 10},
                     {"job", true},
                     {"job type", false, 8, 80},
                     {"queue", false, 8, 100},
                     {"ran", true},
                     {"error", false, 8, 90}},
                    {}};
        const Layers layers(jobs_);
        for (std::size_t i = 0; i < jobs_.size(); ++i)
            sheet.rows.push_back(row_of(i, layers.of(i)));
        // Within a layer they stay in the order of their ids.
        std::stable_sort(sheet.rows.begin(), sheet.rows.end(),
                         [](const SheetRow &one, const SheetRow &other) {
                             return one.cells.front().number < other.cells.front().number;
                         });
        show(std::move(sheet));
    }

    SheetRow row_of(std::size_t i, int layer) const
    {
        const std::string outcome = jobs_.text(i, "outcome");
        std::string after;
        for (const std::string &name : names_in(jobs_.text(i, "after")))
            after += (after.empty() ? "" : ", ") + name;
        return {std::to_string(i),
                {{std::to_string(layer + 1), Tone::plain, layer + 1},
                 text_cell(jobs_, i, "name"),
                 {outcome, tone_of_outcome(outcome)},
                 {after.empty() ? "-" : after, after.empty() ? Tone::dim : Tone::plain},
                 text_cell(jobs_, i, "job_id"),
                 text_cell(jobs_, i, "job_type"),
                 text_cell(jobs_, i, "queue"),
                 time_cell(jobs_, i, "ran"),
                 text_cell(jobs_, i, "error")}};
    }

    Mode mode_;
    std::string id_;
    Rows jobs_;
};

}  // namespace

std::shared_ptr<Screen> graphs_screen(const Mode &mode)
{
    return std::make_shared<GraphsScreen>(mode);
}

std::shared_ptr<Screen> graph_screen(const Mode &mode, const std::string &id)
{
    return std::make_shared<GraphScreen>(mode, id);
}

}  // namespace hipq::top
