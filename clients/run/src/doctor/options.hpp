// The options of "hipq-run doctor".
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hipq::run::doctor {

enum class Format { text, json };
// The lowest severity that affects the exit code; none: never.
enum class Severity { error, warning };

struct Options {
    std::string conninfo;
    Format format = Format::text;
    std::optional<Severity> fail_on = Severity::error;
    bool help = false;
    bool version = false;
};

// Throws UsageError.
Options parse_command_line(const std::vector<std::string> &arguments);

std::string help_text();

}  // namespace hipq::run::doctor
