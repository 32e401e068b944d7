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

Cell rate_cell(const Rows &rows, std::size_t row)
{
    if (!rows.get(row, "rate_limit"))
        return {"-", Tone::dim};
    const double used = rows.number(row, "rate_used");
    return {count_text(used) + " of " + rows.text(row, "rate_limit"), Tone::plain, used};
}

Cell turn_cell(const Rows &rows, std::size_t row)
{
    const bool is_ahead = rows.get(row, "rate_limit") && rows.number(row, "next_turn") > 0;
    return is_ahead ? time_cell(rows, row, "next_turn") : Cell{"-", Tone::dim};
}

}  // namespace hipq::top
