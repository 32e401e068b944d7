// A search for jobs, newest first, with many short statements and a time limit.
#include "api/search.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "database/statements.hpp"

namespace hipq::web {

namespace {

constexpr std::chrono::seconds longest_search{1};
constexpr std::chrono::duration<double> aim{0.03};
constexpr std::size_t most_rows = 100;
constexpr std::size_t queues_at_once = 10;
constexpr std::size_t few_queues = 40;

std::int64_t read_id(const char *name, const std::string &text)
{
    std::int64_t id = 0;
    const char *end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, id);
    if (problem != std::errc() || rest != end || id < 0)
        throw Problem(400, std::string("\"") + name + "\" has to be a number, as a text");
    return id;
}

}  // namespace

std::vector<Searched> searched_queues(Link &link, const std::optional<std::string> &name)
{
    const Result result = link.run(statements::searched_queues, {name});
    std::vector<Searched> queues;
    for (int row = 0; row < PQntuples(result.get()); ++row) {
        const auto value = [&](int column) { return PQgetvalue(result.get(), row, column); };
        queues.push_back({value(0), value(1), value(2), *value(3) == 't'});
    }
    if (name && queues.empty())
        throw Problem(404, "there is no queue \"" + *name + "\" that your role may see");
    return queues;
}

std::string running_jobs(Link &link)
{
    return PQgetvalue(link.run(statements::running_jobs).get(), 0, 0);
}

std::vector<std::string> joined(const std::vector<Searched> &queues, const std::string &branch)
{
    std::vector<std::string> all;
    for (std::size_t at = 0; at < queues.size(); ++at) {
        const std::string part =
            "(" + statements::filled(branch, queues[at].literal, queues[at].table) + ")";
        if (at % queues_at_once == 0)
            all.push_back(part);
        else
            all.back() += " UNION ALL " + part;
    }
    return all;
}

Search::Search(const Call &call) : link_(call.link())
{
    const auto queue = call.text("queue");
    std::vector<Searched> queues = searched_queues(link_, queue);
    // A named queue is queried in any case, so that the server says why its jobs cannot be read.
    if (!queue)
        hidden_ = std::erase_if(queues, [](const Searched &one) { return !one.may_read; });
    make_bands(std::move(queues));
    parameters_.push_back(running_jobs(link_));
    read_conditions(call);
    if (const auto limit = call.body.find("limit"); limit != call.body.end()) {
        if (!limit->is_number_integer() || *limit < 1 || *limit > most_rows)
            throw Problem(400, "\"limit\" has to be a number from 1 to 100");
        limit_ = limit->get<std::size_t>();
    }
    if (const auto after = call.text("after"))
        read_place(*after);
}

void Search::make_bands(std::vector<Searched> queues)
{
    const std::size_t width = queues.size() <= few_queues ? few_queues : queues_at_once;
    for (std::size_t at = 0; at < queues.size(); ++at) {
        if (at % width == 0)
            bands_.emplace_back();
        bands_.back().push_back(std::move(queues[at]));
    }
}

// BAND:ID, from an earlier answer().
void Search::read_place(const std::string &after)
{
    const std::size_t colon = after.find(':');
    if (colon == std::string::npos)
        throw Problem(400, "\"after\" has to be \"next\" of the page before");
    band_ = static_cast<std::size_t>(read_id("after", after.substr(0, colon)));
    below_ = read_id("after", after.substr(colon + 1));
}

// $N in a condition is its value.
void Search::add(const std::string &condition, const std::string &value)
{
    parameters_.emplace_back(value);
    std::string text = condition;
    text.replace(text.find("$N"), 2, "$" + std::to_string(parameters_.size()));
    conditions_ += " AND " + text;
    is_filtered_ = true;
}

void Search::read_conditions(const Call &call)
{
    static const std::vector<std::pair<const char *, const char *>> by_text = {
        {"job_type", "job.job_type = $N"},
        {"job_key", "job.job_key = $N"},
        {"error", "job.error <> 'NONE' AND strpos(lower(job.error), lower($N)) > 0"},
        {"from", "job.created_time >= $N::timestamptz"},
        {"to", "job.created_time < $N::timestamptz"},
        {"trace", "strpos(job.traceparent, $N) > 0"},
    };
    for (const auto &[name, condition] : by_text)
        if (const auto value = call.text(name))
            add(condition, *value);
    if (const auto id = call.text("id"))
        add("job.id = $N::bigint", std::to_string(read_id("id", *id)));
    if (const auto outcome = call.text("outcome"))
        read_outcome(*outcome);
    if (const auto part = call.body.find("contains"); part != call.body.end() && !part->is_null()) {
        const std::string json =
            part->is_string() ? call.text("contains").value_or("") : part->dump();
        const std::size_t begin = json.find_first_not_of(" \t\r\n");
        if (begin == std::string::npos || (json[begin] != '{' && json[begin] != '['))
            throw Problem(400, "\"contains\" has to be a JSON object or array");
        add("job.job_data @> $N::jsonb", json);
    }
}

// The state condition comes first, so that the planner leaves tables out.
void Search::read_outcome(const std::string &outcome)
{
    static const std::map<std::string, const char *> conditions = {
        {"waiting",
         "job.state IN ('initial', 'retry', 'error') AND NOT job.id = ANY ($1::bigint[])"},
        {"held", "job.state <> 'final' AND {0.3? job.waits_for : NULL::text} IS NOT NULL"},
        {"running", "(job.state = 'running' OR job.state IN ('initial', 'retry') "
                    "AND job.id = ANY ($1::bigint[]))"},
        {"succeeded", "job.state = 'final' AND job.error = 'NONE'"},
        {"failed", "job.state = 'final' AND job.error <> 'NONE' "
                   "AND job.retry_reason NOT IN ('cancelled', 'expired', 'skipped')"},
        {"cancelled",
         "job.state = 'final' AND job.error <> 'NONE' AND job.retry_reason = 'cancelled'"},
        {"expired", "job.state = 'final' AND job.error <> 'NONE' AND job.retry_reason = 'expired'"},
        {"skipped", "job.state = 'final' AND job.error <> 'NONE' AND job.retry_reason = 'skipped'"},
    };
    const auto found = conditions.find(outcome);
    if (found == conditions.end())
        throw Problem(400, "there is no outcome \"" + outcome + "\"");
    conditions_ += std::string(" AND ") + found->second;
    is_filtered_ = true;
}

// The range of existing ids in the band.
void Search::find_bounds()
{
    Id greatest = -1;
    least_ = INT64_MAX;
    for (const std::string &statement : joined(bands_[band_], statements::job_bounds)) {
        const Result result =
            link_.run("SELECT min(least), max(greatest) FROM (" + statement + ") AS bounds");
        if (PQgetisnull(result.get(), 0, 0) != 0)
            continue;
        least_ = std::min(least_, read_id("id", PQgetvalue(result.get(), 0, 0)));
        greatest = std::max(greatest, read_id("id", PQgetvalue(result.get(), 0, 1)));
    }
    below_ = std::min(below_, greatest + 1);
}

// Reads the jobs with ids of at least `from` that are below those read before.
void Search::look_from(Id from)
{
    Parameters parameters = parameters_;
    parameters.emplace_back(std::to_string(from));
    parameters.emplace_back(std::to_string(below_));
    // One more than needed shows whether there are more.
    const std::string branch = std::string(statements::job_line) + " WHERE job.id >= $" +
                               std::to_string(parameters.size() - 1) + "::bigint AND job.id < $" +
                               std::to_string(parameters.size()) + "::bigint" + conditions_ +
                               " ORDER BY job.id DESC LIMIT " + std::to_string(limit_ + 1);
    for (const std::string &statement : joined(bands_[band_], branch)) {
        const Result result = link_.run(
            "SELECT listed.id, to_json(listed) FROM (" + statement + ") AS listed", parameters);
        for (int row = 0; row < PQntuples(result.get()); ++row)
            found_.push_back({read_id("id", PQgetvalue(result.get(), row, 0)),
                              PQgetvalue(result.get(), row, 1)});
    }
    below_ = from;
}

void Search::fit_window(std::chrono::duration<double> took)
{
    const auto statements = static_cast<double>(joined(bands_[band_], "").size());
    const double factor = std::clamp(aim / (took / statements), 0.25, 8.0);
    window_ = std::max<Id>(static_cast<Id>(static_cast<double>(window_) * factor), 1000);
}

// At least one window, so that a continued search makes progress.
void Search::look_through_windows(Time::time_point until)
{
    find_bounds();
    while (below_ > least_ && found_.size() <= limit_) {
        const Time::time_point start = Time::now();
        look_from(below_ - least_ > window_ ? below_ - window_ : least_);
        fit_window(Time::now() - start);
        if (Time::now() >= until)
            return;
    }
}

// The results of the band so far are complete, so the newest of them are the newest of all. A
// continued search finds the surplus again.
void Search::sort_band(std::size_t start)
{
    std::sort(found_.begin() + static_cast<std::ptrdiff_t>(start), found_.end(),
              [](const Found &one, const Found &other) { return one.id > other.id; });
    is_cut_ = found_.size() > limit_;
    if (!is_cut_)
        return;
    below_ = limit_ > start ? found_[limit_ - 1].id : INT64_MAX;
    found_.resize(limit_);
}

void Search::look_through_band(Time::time_point until)
{
    const std::size_t start = found_.size();
    // Without conditions the newest jobs of each queue are the first in an index.
    least_ = 0;
    if (is_filtered_)
        look_through_windows(until);
    else
        look_from(0);
    sort_band(start);
}

std::string Search::run()
{
    const Time::time_point until = Time::now() + longest_search;
    while (band_ < bands_.size()) {
        look_through_band(until);
        if (is_cut_ || below_ > least_)
            break;
        ++band_;
        below_ = INT64_MAX;
        if (Time::now() >= until)
            break;
    }
    return answer();
}

std::string Search::answer()
{
    std::string jobs;
    for (const Found &job : found_)
        jobs += (jobs.empty() ? "" : ",") + job.json;
    const bool is_through = band_ >= bands_.size();
    const std::string place = std::to_string(band_) + ":" + std::to_string(below_);
    return object({{"jobs", "[" + jobs + "]"},
                   {"next", is_through ? "null" : quoted(place)},
                   {"partial", is_through || is_cut_ ? "false" : "true"},
                   {"by_queue", bands_.size() > 1 ? "true" : "false"},
                   {"hidden", std::to_string(hidden_)}});
}

}  // namespace hipq::web
