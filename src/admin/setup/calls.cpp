// Builds the statements; values are parameters.
#include "admin/setup/calls.hpp"

namespace hipq::admin {

namespace {

// Qualifies every name, because the search_path is the caller's.
std::string cast(std::size_t number, const std::string &type)
{
    const std::string parameter = "$" + std::to_string(number);
    if (type == "pg_catalog._text")
        return "ARRAY(SELECT pg_catalog.jsonb_array_elements_text(" + parameter +
               "::pg_catalog.jsonb))";
    if (type == "pg_catalog.regrole")  // the name itself, not quoted as in SQL
        return "pg_catalog.quote_ident(" + parameter + ")::" + type;
    return parameter + "::" + type;
}

bool ends_statement(const pg::Error &error)
{
    return ERRCODE_TO_CATEGORY(error.sqlerrcode()) == ERRCODE_OPERATOR_INTERVENTION;
}

}  // namespace

void call_function(const char *function, const std::vector<Argument> &arguments, bool or_replace)
{
    std::string list;
    std::vector<pg::Parameter> values;
    for (const Argument &argument : arguments) {
        values.emplace_back(argument.text);
        list.append(list.empty() ? "" : ", ")
            .append(argument.name + " => " + cast(values.size(), argument.type));
    }
    if (or_replace)
        list += ", or_replace => true";
    (void)pg::execute_once("SELECT hipq." + std::string(function) + "(" + list + ")",
                           std::span<const pg::Parameter>(values), true);
}

void raise_at(const std::string &path, const pg::Error &error)
{
    if (ends_statement(error))
        throw error;  // NOLINT(cert-err60-cpp): as it came
    const std::string message = path + ": " + error.message();
    const std::string detail = error.detail().value_or("");
    const std::string hint = error.hint().value_or("");
    HIPQ_RAISE(errcode(error.sqlerrcode()), errmsg("%s", message.c_str()),
               detail.empty() ? 0 : errdetail("%s", detail.c_str()),
               hint.empty() ? 0 : errhint("%s", hint.c_str()));
}

}  // namespace hipq::admin
