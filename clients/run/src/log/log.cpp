// The log: one line for each event, as text or as JSON, to stderr.
#include "log/log.hpp"

#include <nlohmann/json.hpp>

#include <ctime>

namespace hipq::run {

namespace {

const char *level_name(Level level)
{
    switch (level) {
    case Level::info:
        return "info";
    case Level::warning:
        return "warning";
    case Level::error:
        return "error";
    }
    return "";
}

Level level_of(const std::string &name)
{
    return name == "info" ? Level::info : name == "warning" ? Level::warning : Level::error;
}

// In UTC, to the millisecond: 2026-11-25T19:03:08.123Z.
std::string time_now()
{
    std::timespec now{};
    std::timespec_get(&now, TIME_UTC);
    std::tm parts{};
    ::gmtime_r(&now.tv_sec, &parts);
    std::array<char, 40> text{};
    const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
    std::snprintf(text.data() + length, text.size() - length, ".%03ldZ", now.tv_nsec / 1'000'000);
    return text.data();
}

// A message of libpq may have several lines.
std::string one_line(std::string text)
{
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    for (char &character : text)
        if (character == '\n' || character == '\r')
            character = ' ';
    return text;
}

}  // namespace

Log::Log(bool is_json, const std::string &least) : is_json_(is_json), least_(level_of(least)) {}

void Log::operator()(const LogEntry &entry) const
{
    if (entry.level < least_)
        return;
    const std::string line =
        (is_json_ ? json_line(entry, time_now()) : text_line(entry, time_now())) + "\n";
    // A failed write is ignored: there is no other way to report it.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

std::string text_line(const LogEntry &entry, const std::string &time)
{
    std::string line = time + " " + level_name(entry.level) + ": " + entry.event;
    if (entry.job_id != 0)
        line += ": job " + std::to_string(entry.job_id) + " (" + entry.type + ", attempt " +
                std::to_string(entry.attempt) + ")";
    if (!entry.message.empty())
        line += ": " + one_line(entry.message);
    return line;
}

std::string json_line(const LogEntry &entry, const std::string &time)
{
    nlohmann::ordered_json line{
        {"time", time}, {"level", level_name(entry.level)}, {"event", entry.event}};
    if (entry.job_id != 0) {
        line["job_id"] = entry.job_id;
        line["attempt"] = entry.attempt;
        line["type"] = entry.type;
    }
    if (!entry.message.empty())
        line["message"] = one_line(entry.message);
    return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace hipq::run
