// Cuts texts that are too long for their purpose, at a character boundary.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hipq::core {

// Returns the end of the last character that ends at or before `end`, in the text's encoding. `end`
// lies within the text.
using Border = std::size_t (*)(std::string_view text, std::size_t end);
std::size_t utf8_border(std::string_view text, std::size_t end);

// Returns the text if it has at most `most` bytes; else its beginning and a note of its length,
// together at most `most` bytes: "... (cut, 270000000 bytes)". A text that was cut once stays as it
// is. `most` must have room for the note.
std::string cut(std::string_view text, std::size_t most, Border border);

}  // namespace hipq::core
