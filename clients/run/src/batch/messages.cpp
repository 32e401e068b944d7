// The lines between hipq-run and the program of a batch: JSON, one object a line.
#include "batch/messages.hpp"

#include <nlohmann/json.hpp>

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

std::optional<Ending> ending_in(const json &answer)
{
    if (answer.contains("result"))
        return Ending{Ending::Kind::complete, answer["result"].dump()};
    if (answer.contains("error"))
        return Ending{Ending::Kind::fail, text(answer, "error"),
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
    const json answer = json::parse(line, nullptr, false);
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

}  // namespace hipq::run
