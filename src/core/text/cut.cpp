// Cuts texts; the note about the cut counts as part of the text.
#include "core/text/cut.hpp"

namespace hipq::core {

namespace {

bool continues_character(char byte)
{
    return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

}  // namespace

std::size_t utf8_border(std::string_view text, std::size_t end)
{
    if (end >= text.size())
        return text.size();
    while (end > 0 && continues_character(text[end]))
        --end;
    return end;
}

std::string cut(std::string_view text, std::size_t most, Border border)
{
    if (text.size() <= most)
        return std::string(text);
    const std::string note = "... (cut, " + std::to_string(text.size()) + " bytes)";
    const std::size_t capacity = most > note.size() ? most - note.size() : 0;
    return std::string(text.substr(0, border(text, capacity))) + note;
}

}  // namespace hipq::core
