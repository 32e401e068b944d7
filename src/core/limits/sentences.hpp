// What is said of each finding, with places for the facts.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/limits/finding.hpp"

namespace hipq::core {

// The sentence of a finding. Facts stand as names in braces: "It waits for its time, {time}."
std::string_view sentence(Finding finding);

// A fact by its name.
using NamedFact = std::pair<std::string_view, std::string>;

// The sentence with its facts. A name that is not among them stays as it is.
std::string with_facts(std::string_view sentence, std::span<const NamedFact> facts);

}  // namespace hipq::core
