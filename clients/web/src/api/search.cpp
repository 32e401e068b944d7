// A search of jobs, newest first, in many short statements within a limit of time.
#include "api/search.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "database/statements.hpp"

namespace hipq::web {

namespace {

using Time = std::chrono::steady_clock;

constexpr std::chrono::seconds longest_search{1};
constexpr std::chrono::duration<double> aim{0.03};
constexpr std::size_t most_rows = 100;

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

std::vector<std::string> Groups::statements(const std::string &branch) const
{
    std::vector<std::string> all;
    for (std::size_t at = 0; at < queues_.size(); ++at) {
        const std::string part =
            "(" + statements::filled(branch, queues_[at].literal, queues_[at].table) + ")";
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
    // One that is named is asked, so that the server says why its jobs cannot be read.
    if (!queue)
        hidden_ = std::erase_if(queues, [](const Searched &one) { return !one.may_read; });
    groups_ = Groups(std::move(queues));
    parameters_.push_back(running_jobs(link_));
    read_conditions(call);
    if (const auto limit = call.body.find("limit"); limit != call.body.end()) {
        if (!limit->is_number_integer() || *limit < 1 || *limit > most_rows)
            throw Problem(400, "\"limit\" has to be a number from 1 to 100");
        limit_ = limit->get<std::size_t>();
    }
    if (const auto after = call.text("after"))
        below_ = read_id("after", *after);
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
        if (!part->is_object() && !part->is_array())
            throw Problem(400, "\"contains\" has to be a JSON object or array");
        add("job.job_data @> $N::jsonb", part->dump());
    }
}

// In terms of the state first, so that the planner leaves tables out.
void Search::read_outcome(const std::string &outcome)
{
    static const std::map<std::string, const char *> conditions = {
        {"waiting", "job.state IN ('initial', 'retry', 'error') AND NOT job.id = ANY ($1::bigint[])"},
        {"running", "(job.state = 'running' OR job.state IN ('initial', 'retry') "
                    "AND job.id = ANY ($1::bigint[]))"},
        {"succeeded", "job.state = 'final' AND job.error = 'NONE'"},
        {"failed", "job.state = 'final' AND job.error <> 'NONE' "
                   "AND job.retry_reason NOT IN ('cancelled', 'expired')"},
        {"cancelled",
         "job.state = 'final' AND job.error <> 'NONE' AND job.retry_reason = 'cancelled'"},
        {"expired", "job.state = 'final' AND job.error <> 'NONE' AND job.retry_reason = 'expired'"},
    };
    const auto found = conditions.find(outcome);
    if (found == conditions.end())
        throw Problem(400, "there is no outcome \"" + outcome + "\"");
    conditions_ += std::string(" AND ") + found->second;
    is_filtered_ = true;
}

// The ids there are at all. Whether there are any.
bool Search::find_bounds()
{
    Id greatest = -1;
    least_ = INT64_MAX;
    for (const std::string &statement : groups_.statements(statements::job_bounds)) {
        const Result result = link_.run("SELECT min(least), max(greatest) FROM (" + statement + ") AS bounds");
        if (PQgetisnull(result.get(), 0, 0) != 0)
            continue;
        least_ = std::min(least_, read_id("id", PQgetvalue(result.get(), 0, 0)));
        greatest = std::max(greatest, read_id("id", PQgetvalue(result.get(), 0, 1)));
    }
    below_ = std::min(below_, greatest < 0 ? 0 : greatest + 1);
    return greatest >= 0 && below_ > least_;
}

// Adds the jobs from an id on, up to those that were looked at before.
void Search::look_from(Id from)
{
    Parameters parameters = parameters_;
    parameters.emplace_back(std::to_string(from));
    parameters.emplace_back(std::to_string(below_));
    const std::string n = std::to_string(parameters_.size() + 1);
    const std::string m = std::to_string(parameters_.size() + 2);
    // One more than is wanted shows whether there are more.
    const std::string branch = std::string(statements::job_line) + " WHERE job.id >= $" + n +
                               "::bigint AND job.id < $" + m + "::bigint" + conditions_ +
                               " ORDER BY job.id DESC LIMIT " + std::to_string(limit_ + 1);
    for (const std::string &statement : groups_.statements(branch)) {
        const Result result = link_.run(
            "SELECT listed.id, to_json(listed) FROM (" + statement + ") AS listed", parameters);
        for (int row = 0; row < PQntuples(result.get()); ++row)
            found_.push_back({read_id("id", PQgetvalue(result.get(), row, 0)),
                              PQgetvalue(result.get(), row, 1)});
    }
}

void Search::fit_window(std::chrono::duration<double> took)
{
    const std::size_t statements = std::max<std::size_t>(groups_.statements("").size(), 1);
    const double ratio = aim / (took / static_cast<double>(statements));
    const double factor = std::clamp(ratio, 0.25, 8.0);
    window_ = std::max<Id>(static_cast<Id>(static_cast<double>(window_) * factor), 1000);
}

std::string Search::run()
{
    const Time::time_point until = Time::now() + longest_search;
    // Without conditions the newest jobs of each queue are the first that an index has.
    if (!is_filtered_) {
        look_from(0);
        return answer(found_.size() <= limit_);
    }
    if (!find_bounds())
        return answer(true);
    while (below_ > least_ && found_.size() <= limit_ && Time::now() < until) {
        const Id from = below_ - least_ > window_ ? below_ - window_ : least_;
        const Time::time_point start = Time::now();
        look_from(from);
        below_ = from;
        fit_window(Time::now() - start);
    }
    return answer(below_ <= least_);
}

// What was found in a window is whole, so the newest of it are; what is over is found again.
std::string Search::answer(bool is_through)
{
    std::sort(found_.begin(), found_.end(),
              [](const Found &one, const Found &other) { return one.id > other.id; });
    const bool is_full = found_.size() > limit_;
    if (is_full)
        found_.resize(limit_);
    std::string jobs;
    for (const Found &job : found_)
        jobs += (jobs.empty() ? "" : ",") + job.json;
    std::string next = "null";
    if (is_full)
        next = "\"" + std::to_string(found_.back().id) + "\"";
    else if (!is_through)
        next = "\"" + std::to_string(below_) + "\"";
    return object({{"jobs", "[" + jobs + "]"},
                   {"next", next},
                   {"partial", !is_full && !is_through ? "true" : "false"},
                   {"hidden", std::to_string(hidden_)}});
}

}  // namespace hipq::web
