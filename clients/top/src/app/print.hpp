// The first screen as text, for pipes and for --once.
#pragma once

#include "model/database.hpp"
#include "screens/screens.hpp"

#include <string>

namespace hipq::top {

// Prints it to stdout; after an error it prints nothing.
Answer print_queues(Database &database, const Mode &mode);

std::string text_of(const Page &page);

}  // namespace hipq::top
