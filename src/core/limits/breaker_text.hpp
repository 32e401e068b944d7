// The rules of breakers as text.
//
//    rule    := percent '%' 'of' attempts 'in' length ',' 'open' length
//    percent := 1 to 100
//    attempts := 1 to 1000000
//    length  := [count] unit, from 1 second to 31 days; units as in rates (rule_text.hpp)
//
// '50% of 20 in 1 min, open 30 s': it opens when at least 20 attempts ended within a minute and at
// least half of them failed; after 30 seconds one job tries.
#pragma once

#include "core/limits/breaker.hpp"
#include "core/limits/time_windows.hpp"

#include <string>
#include <string_view>
#include <variant>

namespace hipq::core {

// Parses; never throws.
std::variant<BreakerRule, ParseProblem> parse_breaker(std::string_view text);

// The canonical text. parse_breaker(canonical(rule)) == rule.
std::string canonical(const BreakerRule &rule);

// 'closed', 'open' and 'half open'.
std::string_view name(BreakerState state);

}  // namespace hipq::core
