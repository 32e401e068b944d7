// The findings of hipq.doctor(), for people and for machines.
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

// Whether a finding is at least this severe.
bool is_any(const Findings &findings, Severity least);

std::string as_text(const Findings &findings, const std::string &database);
// An array of objects.
std::string as_json(const Findings &findings);

}  // namespace hipq::run::doctor
