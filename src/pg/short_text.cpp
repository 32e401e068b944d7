// Cuts texts to a bound in the encoding of the database.
#include "pg/short_text.hpp"

#include "core/text/cut.hpp"

extern "C" {
#include "mb/pg_wchar.h"
}

namespace hipq::pg {

namespace {

std::size_t border(std::string_view text, std::size_t end)
{
    return static_cast<std::size_t>(pg::call([&] {
        return ::pg_mbcliplen(text.data(), static_cast<int>(text.size()), static_cast<int>(end));
    }));
}

}  // namespace

std::string short_text(std::string_view text, std::size_t most)
{
    return core::cut(text, most, border);
}

}  // namespace hipq::pg
