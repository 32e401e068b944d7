// Asks for a password on the terminal.
#pragma once

#include <string>

namespace hipq::top {

// What is typed is not shown.
std::string read_password();

}  // namespace hipq::top
