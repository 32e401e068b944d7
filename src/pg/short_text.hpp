// Cuts texts of others, to be stored or reported, to a bound in the encoding of the database.
#pragma once

#include "core/job/bounds.hpp"
#include "pg/guard.hpp"

namespace hipq::pg {

// Like core::cut().
std::string short_text(std::string_view text, std::size_t most = core::most_failure_text);

// The message of an error, for use in a log message.
inline std::string short_message(const pg::Error &error)
{
    return short_text(error.message(), core::most_message);
}

}  // namespace hipq::pg
