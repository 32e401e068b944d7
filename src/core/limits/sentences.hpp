// The sentence that describes each finding, with placeholders for facts.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/limits/finding.hpp"

namespace hipq::core {

// Returns the sentence of a finding. Placeholders are names in braces: "It waits for its time,
// {time}."
std::string_view sentence(Finding finding);

// A fact and the name of its placeholder.
using NamedFact = std::pair<std::string_view, std::string>;

// Returns the sentence with its facts filled in. A placeholder without a fact stays as it is.
std::string with_facts(std::string_view sentence, std::span<const NamedFact> facts);

}  // namespace hipq::core
