// Decides whether a text given as job data is JSON or a plain string.
#pragma once

#include <string_view>

namespace hipq::core {

// A text is taken as JSON, and the caller parses it strictly, if it starts like a JSON object,
// array or string, or is exactly a JSON number, true, false or null (surrounding blanks allowed).
// Everything else is a plain string: 'hello', '2026-11-21', '', and a quoted word followed by
// others: '"quoted" text'. A byte order mark or no-break space before a brace or bracket is a
// mistake, which the strict parser refuses.
bool reads_as_json(std::string_view text);

}  // namespace hipq::core
