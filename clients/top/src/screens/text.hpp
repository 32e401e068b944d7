// Texts as a terminal shows them: their width, cut and padded; numbers, lengths of time and JSON
// for people.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hipq::top {

// Columns that a text of UTF-8 takes.
int width_of(std::string_view text);

// Without what would move the cursor: control characters and bytes that are no UTF-8 are shown as a
// question mark, line ends and tabs as a space.
std::string one_line(std::string_view text);

// At most so many columns; what is cut ends in an ellipsis.
std::string cut(const std::string &text, int width);

// Exactly so many columns: cut, or filled with spaces at the right or the left.
std::string fit(const std::string &text, int width, bool at_the_right = false);

// The lines of a text, broken at words so that each fits.
std::vector<std::string> wrap(const std::string &text, int width);

// 950, 12.3k, 4.56M
std::string count_text(double number);
std::string plural(double number, const std::string &one);  // 1 worker, 2 workers

// 12ms, 3.2s, 4m05s, 2h10m, 3d04h; nothing: a dash
std::string duration_text(std::optional<double> seconds);

// JSON with a line for each member; what is no JSON, as it is.
std::string pretty_json(const std::string &text);

}  // namespace hipq::top
