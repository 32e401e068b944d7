// The members of a JSON object, each as its original text: numbers keep all their digits.
#pragma once

#include <map>
#include <string>

namespace hipq::run {

using Members = std::map<std::string, std::string>;

// Does not parse values. Throws std::invalid_argument if the text is not an object.
Members members_of(const std::string &object);

// Unpaired surrogates, which other languages write but which are not valid text, become U+FFFD.
std::string whole_pairs(std::string json);

}  // namespace hipq::run
