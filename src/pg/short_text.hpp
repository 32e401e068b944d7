// Texts of others that are stored or said, cut to a bound in the encoding of the database.
#pragma once

#include "core/job/bounds.hpp"
#include "pg/guard.hpp"

namespace hipq::pg {

// As core::cut has it.
std::string short_text(std::string_view text, std::size_t most = core::most_failure_text);

// What an error says, for a message of the log.
inline std::string short_message(const pg::Error &error)
{
    return short_text(error.message(), core::most_message);
}

}  // namespace hipq::pg
