// Dead letters: searches, redriving and dismissing, one by one or many at once.
#include "api/api.hpp"
#include "api/many.hpp"
#include "database/statements.hpp"

namespace hipq::web {

namespace {

int number(const Call &call, const char *name, int most, int by_default)
{
    const auto found = call.body.find(name);
    if (found == call.body.end() || found->is_null())
        return by_default;
    if (!found->is_number_integer() || *found < 1 || *found > most)
        throw Problem(400, std::string("\"") + name + "\" has to be a number from 1 to " +
                               std::to_string(most));
    return *found;
}

std::string groups(const Call &call)
{
    return object({{"groups", call.link().rows(statements::dead_letter_groups)}});
}

// TIME ID of the last row of the previous page.
Parameters cursor_of(const Call &call)
{
    const auto after = call.text("after");
    if (!after)
        return {std::nullopt, std::nullopt};
    const std::size_t space = after->find(' ');
    if (space == std::string::npos)
        throw Problem(400, "\"after\" has to be \"next\" of the page before");
    return {after->substr(0, space), after->substr(space + 1)};
}

std::string search_dead_letters(const Call &call)
{
    const int limit = number(call, "limit", 100, 50);
    Parameters parameters = {call.text("queue"), call.text("job_type"), call.text("reason"),
                             call.text("state"), call.text("since")};
    for (const auto &part : cursor_of(call))
        parameters.push_back(part);
    parameters.emplace_back(std::to_string(limit));
    const std::string rows = call.link().rows(statements::dead_letters, parameters);
    const nlohmann::json letters = nlohmann::json::parse(rows);
    std::string next = "null";
    if (letters.size() == static_cast<std::size_t>(limit))
        next = quoted(letters.back().at("died_time").get<std::string>() + " " +
                      letters.back().at("job_id").get<std::string>());
    return object({{"dead_letters", rows}, {"next", next}});
}

// Acts on the dead letters in "ids", or on a queue's waiting ones, by job type, reason and time of
// death.
std::string handle(const Call &call, const char *one, const char *many)
{
    if (call.body.contains("ids"))
        return do_to_each(call, one, {});
    const auto queue = call.text("queue");
    if (!queue)
        throw Problem(400, "\"ids\" or \"queue\" is needed");
    const std::string rows = call.link().rows(
        many, {queue, call.text("job_type"), call.text("reason"),
               std::to_string(number(call, "limit", 10'000, 1'000)), call.text("before")});
    return rows.substr(1, rows.size() - 2);
}

std::string redrive(const Call &call)
{
    return handle(call, statements::redrive, statements::redrive_many);
}

std::string dismiss(const Call &call)
{
    return handle(call, statements::dismiss, statements::dismiss_many);
}

}  // namespace

std::vector<Route> dead_letter_routes()
{
    return {
        {Route::Kind::look, "/api/dead-letters/groups", groups},
        {Route::Kind::ask, "/api/dead-letters/search", search_dead_letters},
        {Route::Kind::action, "/api/dead-letters/redrive", redrive},
        {Route::Kind::action, "/api/dead-letters/dismiss", dismiss},
    };
}

}  // namespace hipq::web
