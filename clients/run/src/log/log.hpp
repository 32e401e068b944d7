// The log: one line for each event, as text or as JSON, to stderr.
#pragma once

#include "hipq/client/attendance.hpp"

namespace hipq::run {

using client::LogEntry;
using Level = LogEntry::Level;

class Log {
public:
    Log(bool is_json, const std::string &least);

    void operator()(const LogEntry &entry) const;

private:
    bool is_json_;
    Level least_;
};

// The line of an entry, without a newline.
std::string text_line(const LogEntry &entry, const std::string &time);
std::string json_line(const LogEntry &entry, const std::string &time);

}  // namespace hipq::run
