// The lines between hipq-run and the program of a batch: JSON, one object a line.
#include "batch/messages.hpp"

#include <nlohmann/json.hpp>

#include <charconv>
#include <regex>

namespace hipq::run {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

template <typename Value>
Value member(const json &object, const char *name)
{
    try {
        return object.at(name).get<Value>();
    } catch (const json::exception &) {
        throw std::invalid_argument("member \"" + std::string(name) +
                                    "\" is missing or of another type");
    }
}

template <typename Value>
std::optional<Value> optional_member(const json &object, const char *name)
{
    return object.contains(name) ? std::optional(member<Value>(object, name)) : std::nullopt;
}

std::string text(const json &object, const char *name)
{
    return clean_text(member<std::string>(object, name));
}

// The code of an escape that stands there; 0: none stands there.
unsigned escaped_at(const std::string &line, std::size_t at)
{
    unsigned code = 0;
    if (line.compare(at, 2, "\\u") != 0 || line.size() < at + 6)
        return 0;
    std::from_chars(line.data() + at + 2, line.data() + at + 6, code, 16);
    return code;
}

// Halves of surrogate pairs, which other languages write but no text has, as U+FFFD.
std::string whole_pairs(std::string line)
{
    for (std::size_t at = 0; (at = line.find('\\', at)) != std::string::npos;) {
        const unsigned code = escaped_at(line, at);
        const unsigned next = (code & 0xFC00) == 0xD800 ? escaped_at(line, at + 6) : 0;
        const bool is_pair = (next & 0xFC00) == 0xDC00;
        if ((code & 0xF800) == 0xD800 && !is_pair)
            line.replace(at, 6, "\\ufffd");
        at += is_pair ? 12 : 2;
    }
    return line;
}

// Of another type it is an error all the same.
std::string error_in(const json &error)
{
    return clean_text(error.is_string() ? error.get<std::string>() : error.dump());
}

std::optional<Ending> ending_in(const json &answer)
{
    if (answer.contains("result"))
        return Ending{Ending::Kind::complete, answer["result"].dump()};
    if (answer.contains("error"))
        return Ending{Ending::Kind::fail, error_in(answer["error"]),
                      optional_member<bool>(answer, "retriable").value_or(true)};
    if (answer.contains("release"))
        return Ending{Ending::Kind::release, text(answer, "release")};
    return std::nullopt;
}

std::optional<Said> said_in(const json &answer)
{
    Said said;
    if (answer.contains("extend")) {
        said.more_time = text(answer, "extend");
        return said;
    }
    if (!answer.contains("progress"))
        return std::nullopt;
    said.done = member<std::int64_t>(answer, "progress");
    said.total = optional_member<std::int64_t>(answer, "total");
    if (answer.contains("message"))
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
    // The data as they stand: numbers keep all their digits.
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
    const json answer = json::parse(whole_pairs(clean_text(line)), nullptr, false);
    if (!answer.is_object())
        throw std::invalid_argument("not a JSON object");
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
                                 R"form("(\w+)"\s*:)form");
    constexpr std::size_t most = 8'000;
    const std::string beginning = line.substr(0, most);
    std::smatch found;
    if (!std::regex_search(beginning, found, form, std::regex_constants::match_continuous))
        throw std::invalid_argument("longer than --max-output allows, and does not begin with "
                                    "\"id\"");
    BatchAnswer read{std::stoll(found[1])};
    if (found[2].matched)
        read.attempt = std::stoi(found[2]);
    if (found[4] == "error")
        read.ending = {Ending::Kind::fail, clean_text(found.suffix()), found[3] != "false"};
    else
        read.ending = {Ending::Kind::fail, "the answer is longer than --max-output allows", false};
    return read;
}

}  // namespace hipq::run
