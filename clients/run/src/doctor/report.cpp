// Writes findings as text and as JSON.
#include "doctor/report.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace hipq::run::doctor {

namespace {

long count(const Findings &findings, std::string_view severity)
{
    return std::ranges::count(findings, severity, &Finding::severity);
}

std::string counted(long number, const std::string &what)
{
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string summary(const Findings &findings, const std::string &database)
{
    const std::string where = "Database \"" + database + "\": ";
    if (findings.empty())
        return where + "nothing is wrong.\n";
    const std::string information = std::to_string(count(findings, "information"));
    return where + counted(count(findings, "error"), "error") + ", " +
           counted(count(findings, "warning"), "warning") + ", " + information +
           " for information.\n";
}

}  // namespace

bool is_any(const Findings &findings, Severity least)
{
    return count(findings, "error") > 0 ||
           (least == Severity::warning && count(findings, "warning") > 0);
}

std::string as_text(const Findings &findings, const std::string &database)
{
    std::string text;
    for (const Finding &each : findings) {
        text += each.severity + ": " + each.subject + ": " + each.finding + "\n";
        text += "    " + each.detail + "\n    " + each.hint + "\n";
        if (each.statement)
            text += "    => " + *each.statement + ";\n";
        text += "\n";
    }
    return text + summary(findings, database);
}

std::string as_json(const Findings &findings)
{
    auto list = nlohmann::ordered_json::array();
    for (const Finding &each : findings) {
        nlohmann::ordered_json object = {{"severity", each.severity}, {"subject", each.subject},
                                         {"finding", each.finding},   {"detail", each.detail},
                                         {"hint", each.hint},         {"statement", nullptr}};
        if (each.statement)
            object["statement"] = *each.statement;
        list.push_back(std::move(object));
    }
    return list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace hipq::run::doctor
