// Cells of tables, and their colours.
#include "screens/screens.hpp"
#include "screens/text.hpp"

namespace hipq::top {

namespace {

std::optional<double> number_in(const Rows &rows, std::size_t row, const char *column)
{
    return rows.get(row, column) ? std::optional(rows.number(row, column)) : std::nullopt;
}

}  // namespace

Tone tone_of_state(const std::string &state)
{
    if (state == "runs")
        return Tone::good;
    if (state == "idle" || state == "waits")
        return Tone::dim;
    if (state == "no worker" || state == "late" || state == "locked" || state == "held: crashed")
        return Tone::bad;
    return Tone::warning;
}

Tone tone_of_outcome(const std::string &outcome)
{
    if (outcome == "running" || outcome == "succeeded")
        return Tone::good;
    if (outcome == "failed")
        return Tone::bad;
    if (outcome == "waiting" || outcome == "held")
        return Tone::plain;
    return Tone::warning;
}

Cell number_cell(const Rows &rows, std::size_t row, const char *column)
{
    const auto number = number_in(rows, row, column);
    return {number ? count_text(*number) : "-", number == 0 ? Tone::dim : Tone::plain, number};
}

// ~12,345: an estimate; ?: not known.
Cell backlog_cell(const Rows &rows, std::size_t row)
{
    Cell cell = number_cell(rows, row, "backlog");
    if (!cell.number)
        return {"?", Tone::warning};
    if (!rows.is_true(row, "exact"))
        cell.text.insert(0, "~");
    return cell;
}

Cell time_cell(const Rows &rows, std::size_t row, const char *column)
{
    const auto seconds = number_in(rows, row, column);
    return {duration_text(seconds), seconds ? Tone::plain : Tone::dim, seconds};
}

Cell text_cell(const Rows &rows, std::size_t row, const char *column, Tone tone)
{
    return {rows.text(row, column), tone};
}

}  // namespace hipq::top
