// Parses the values of options, each into its type, and reports errors.
#pragma once

#include <string>
#include <vector>

#include "options/options.hpp"

namespace hipq::run {

using program::read_number;
// Seconds, not negative, with a fraction.
Seconds read_seconds(const std::string &text);
// Names between commas, none of them empty.
std::vector<std::string> read_names(const std::string &text);
// One of two words; true: the second one.
bool read_choice(const std::string &text, const std::string &first, const std::string &second);
// A JSON object, as written.
std::string read_object(const std::string &text);

struct Address {
    std::string host;
    std::string port;
};
// HOST:PORT, [HOST]:PORT or only PORT, which is on the loopback.
Address read_address(const std::string &text);

// An HTTP URL, as written.
void read_url(const std::string &text);

}  // namespace hipq::run
