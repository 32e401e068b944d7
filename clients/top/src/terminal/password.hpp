// Asks for a password on the terminal.
#pragma once

#include <string>

namespace hipq::top {

// Does not echo the input.
std::string read_password();

}  // namespace hipq::top
