// The lines between hipq-run and the program of a batch: JSON, one object a line.
#include "batch/messages.hpp"

#include <nlohmann/json.hpp>

#include <regex>

#include "batch/members.hpp"

namespace hipq::run {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

bool has(const Members &answer, const char *name)
{
    return answer.contains(name);
}

template <typename Value>
Value member(const Members &answer, const char *name)
{
    try {
        return json::parse(whole_pairs(answer.at(name))).get<Value>();
    } catch (const std::exception &) {
        throw std::invalid_argument("member \"" + std::string(name) +
                                    "\" is missing or of another type");
    }
}

template <typename Value>
std::optional<Value> optional_member(const Members &answer, const char *name)
{
    return has(answer, name) ? std::optional(member<Value>(answer, name)) : std::nullopt;
}

std::string text(const Members &answer, const char *name)
{
    return clean_text(member<std::string>(answer, name));
}

// An error or a delay of another type is accepted, too.
std::string text_or_json(const Members &answer, const char *name)
{
    const std::string &given = answer.at(name);
    return given.front() == '"' ? text(answer, name) : given;
}

Ending failure_in(const Members &answer)
{
    Ending failure{Ending::Kind::fail, text_or_json(answer, "error"),
                   optional_member<bool>(answer, "retriable").value_or(true)};
    if (has(answer, "retry_after") && answer.at("retry_after") != "null")
        failure.retry_after = text_or_json(answer, "retry_after");
    return failure;
}

std::optional<Ending> ending_in(const Members &answer)
{
    if (has(answer, "result"))
        return Ending{Ending::Kind::complete, answer.at("result")};
    if (has(answer, "error"))
        return failure_in(answer);
    if (has(answer, "release"))
        return Ending{Ending::Kind::release, text(answer, "release")};
    return std::nullopt;
}

std::optional<Said> said_in(const Members &answer)
{
    Said said;
    if (has(answer, "extend")) {
        said.more_time = text(answer, "extend");
        return said;
    }
    if (!has(answer, "progress"))
        return std::nullopt;
    said.done = member<std::int64_t>(answer, "progress");
    said.total = optional_member<std::int64_t>(answer, "total");
    if (has(answer, "message"))
        said.message = text(answer, "message");
    return said;
}

}  // namespace

std::string job_line(const ClaimedJob &job)
{
    ordered_json line{{"id", job.id},
                      {"attempt", job.attempt},
                      {"queue", job.queue},
                      {"type", job.type},
                      {"key", nullptr},
                      {"deadline", nullptr},
                      {"retry_count", job.retry_count},
                      {"max_retries", job.max_retries}};
    if (job.key)
        line["key"] = *job.key;
    if (!job.deadline.empty())
        line["deadline"] = job.deadline;
    if (job.traceparent)
        line["traceparent"] = *job.traceparent;
    std::string written = line.dump();
    // The original data: numbers keep all their digits.
    written.back() = ',';
    return written + "\"data\":" + job.data + "}\n";
}

std::string over_line(Attempt attempt)
{
    return ordered_json{{"id", attempt.id}, {"attempt", attempt.attempt}, {"over", true}}.dump() +
           "\n";
}

BatchAnswer read_answer(const std::string &line)
{
    const Members answer = members_of(clean_text(without_mark(line)));
    BatchAnswer read;
    read.id = member<std::int64_t>(answer, "id");
    read.attempt = optional_member<int>(answer, "attempt");
    read.ending = ending_in(answer);
    read.said = said_in(answer);
    if (!read.ending && !read.said)
        throw std::invalid_argument("no member \"result\", \"error\", \"release\", \"progress\" or "
                                    "\"extend\"");
    return read;
}

BatchAnswer read_long_answer(const std::string &line)
{
    static const std::regex form(R"form(\s*\{\s*"id"\s*:\s*(\d{1,18})\s*,\s*)form"
                                 R"form((?:"attempt"\s*:\s*(\d{1,9})\s*,\s*)?)form"
                                 R"form((?:"retriable"\s*:\s*(true|false)\s*,\s*)?)form"
                                 R"form((?:"retry_after"\s*:\s*"([^"\\]*)"\s*,\s*)?)form"
                                 R"form("(\w+)"\s*:)form");
    constexpr std::size_t most = 8'000;
    const std::string beginning = without_mark(line).substr(0, most);
    std::smatch found;
    if (!std::regex_search(beginning, found, form, std::regex_constants::match_continuous))
        throw std::invalid_argument("longer than --max-output allows, and does not begin with "
                                    "\"id\"");
    BatchAnswer read{std::stoll(found[1])};
    if (found[2].matched)
        read.attempt = std::stoi(found[2]);
    if (found[5] == "error")
        read.ending = {Ending::Kind::fail, clean_text(found.suffix()), found[3] != "false"};
    else
        read.ending = {Ending::Kind::fail, "the answer is longer than --max-output allows", false};
    if (found[4].matched && read.ending->retriable)
        read.ending->retry_after = found[4];
    return read;
}

}  // namespace hipq::run
