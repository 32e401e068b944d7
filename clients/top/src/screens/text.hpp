// Texts on a terminal: width, cutting and padding; numbers, durations and JSON in readable form.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hipq::top {

// The number of columns that a UTF-8 text takes.
int width_of(std::string_view text);

// Without characters that move the cursor: control characters and invalid bytes become a question
// mark, line ends and tabs a space.
std::string one_line(std::string_view text);

// At most this many columns; a cut text ends with an ellipsis.
std::string cut(const std::string &text, int width);

// Exactly this many columns: cut, or padded with spaces at the right or the left.
std::string fit(const std::string &text, int width, bool at_the_right = false);

// The lines of a text, wrapped at words so that each fits.
std::vector<std::string> wrap(const std::string &text, int width);

// 950, 12.3k, 4.56M
std::string count_text(double number);
std::string plural(double number, const std::string &one);  // 1 worker, 2 workers

// 12ms, 3.2s, 4m05s, 2h10m, 3d04h; none: a dash
std::string duration_text(std::optional<double> seconds);

// JSON with a line for each member; other text unchanged.
std::string pretty_json(const std::string &text);

}  // namespace hipq::top
