// What hipq.doctor() has found, as people and as machines read it.
#pragma once

#include "doctor/options.hpp"

namespace hipq::run::doctor {

struct Finding {
    std::string severity;
    std::string subject;
    std::string finding;
    std::string detail;
    std::string hint;
    std::optional<std::string> statement;
};
using Findings = std::vector<Finding>;

// Whether something is at least as severe.
bool is_any(const Findings &findings, Severity least);

std::string as_text(const Findings &findings, const std::string &database);
// An array of objects.
std::string as_json(const Findings &findings);

}  // namespace hipq::run::doctor
