// What "hipq-run doctor" is told by its command line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hipq::run::doctor {

enum class Format { text, json };
// The least that counts as a finding for the exit code; nothing: never.
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
