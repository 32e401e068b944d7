// Texts that are too long for what they are for, cut at the border of a character.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hipq::core {

// The end of the last character that ends at or before `end`, which lies within the text; by the
// encoding of the text.
using Border = std::size_t (*)(std::string_view text, std::size_t end);
std::size_t utf8_border(std::string_view text, std::size_t end);

// The text if it has at most `most` bytes; else its beginning and how long it was, together at most
// `most` bytes:
// "... (cut, 270000000 bytes)". What was cut once stays as it is. `most` has room for that note.
std::string cut(std::string_view text, std::size_t most, Border border);

}  // namespace hipq::core
