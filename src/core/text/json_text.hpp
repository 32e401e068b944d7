// Whether a text that a user gives as job data is JSON, or a plain string.
#pragma once

#include <string_view>

namespace hipq::core {

// Text that starts like a JSON object, array or string, or is exactly a JSON number, true, false or
// null (blanks around allowed), is meant as JSON and parsed strictly by whoever asks. Everything
// else is a plain string: 'hello', '2026-11-21', '', and words in quotes that others follow:
// '"quoted" text'. A byte order mark or no-break space before a brace or bracket is a slip, which
// the strict parser refuses.
bool reads_as_json(std::string_view text);

}  // namespace hipq::core
