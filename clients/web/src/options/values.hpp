// Parses the values of options, each into its type, and reports errors.
#pragma once

#include <string>

#include "options/options.hpp"

namespace hipq::web {

using program::read_number;

// HOST:PORT, [HOST]:PORT or only PORT, which is on the loopback.
void set_address(Options &options, const std::string &text);

// http://HOST[:PORT] or https://HOST[:PORT], with nothing after it.
void set_origin(Options &options, const std::string &text);

// Whether it is "localhost" or an address that only this machine reaches. Other names lead where
// DNS says, whatever they begin with.
bool is_loopback(const std::string &host);

}  // namespace hipq::web
