// The members of a JSON object, each as the text that stands there: numbers keep all their digits.
#pragma once

#include <map>
#include <string>

namespace hipq::run {

using Members = std::map<std::string, std::string>;

// Values are not looked into. Throws std::invalid_argument for what is no object.
Members members_of(const std::string &object);

// Halves of surrogate pairs, which other languages write but no text has, as U+FFFD.
std::string whole_pairs(std::string json);

}  // namespace hipq::run
