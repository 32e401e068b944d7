// Runs an action for each job of a call, and reports the refused ones.
#include "api/many.hpp"

namespace hipq::web {

namespace {

constexpr std::size_t most_ids = 500;

bool is_id(const std::string &text)
{
    return !text.empty() && text.size() <= 18 &&
           text.find_first_not_of("0123456789") == std::string::npos;
}

nlohmann::json refusal(const std::string &id, const DatabaseError &error)
{
    nlohmann::json refused = nlohmann::json::parse(error_json(error)).at("error");
    refused["id"] = id;
    return refused;
}

}  // namespace

std::vector<std::string> ids_of(const Call &call)
{
    std::vector<std::string> ids;
    const auto found = call.body.find("ids");
    nlohmann::json given =
        found == call.body.end() || !found->is_array() ? nlohmann::json::array() : *found;
    if (const auto one = call.body.find("id"); one != call.body.end())
        given.push_back(*one);
    for (const nlohmann::json &id : given) {
        if (!id.is_string() || !is_id(id))
            throw Problem(400, "\"ids\" has to be a list of numbers, as texts");
        ids.push_back(id);
    }
    if (ids.empty() || ids.size() > most_ids)
        throw Problem(400, "\"ids\" has to be a list of 1 to 500 jobs");
    return ids;
}

// Each in its own transaction, so that a refused job does not affect the others.
std::string do_to_each(const Call &call, const char *statement, const Parameters &others,
                       const char *when_false)
{
    std::size_t done = 0;
    nlohmann::json made = nlohmann::json::object();
    nlohmann::json refused = nlohmann::json::array();
    for (const std::string &id : ids_of(call)) {
        Parameters parameters = {id};
        parameters.insert(parameters.end(), others.begin(), others.end());
        try {
            const Result result = call.link().run(statement, parameters);
            const std::string value = PQgetvalue(result.get(), 0, 0);
            if (when_false != nullptr && value == "f") {
                refused.push_back({{"id", id}, {"message", when_false}});
                continue;
            }
            ++done;
            if (is_id(value))
                made[id] = value;
        } catch (const ConnectionLost &) {
            throw;
        } catch (const DatabaseError &error) {
            refused.push_back(refusal(id, error));
        }
    }
    return object(
        {{"done", std::to_string(done)}, {"new", made.dump()}, {"refused", refused.dump()}});
}

}  // namespace hipq::web
