// Converts arguments of calls to text that every node reads alike, whatever the settings of its
// session.
#pragma once

#include "pg/spi.hpp"

namespace hipq::nodes {

std::string text_of(pg::Time time);
// Converts jsonb; nothing for NULL.
std::optional<std::string> text_of(pg::RawValue json);

// Converts from microseconds since 1970, or "infinity".
pg::Time time_of(const std::string &microseconds);

// Converts from text: jsonb in the current memory context.
pg::RawValue json_of(const std::string &text);

}  // namespace hipq::nodes
