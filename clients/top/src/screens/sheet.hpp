// A table of a screen: columns, rows, their order and filter; fits it into the terminal. Pure: it
// uses neither terminal nor server.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hipq::top {

enum class Tone { plain, dim, strong, title, good, warning, bad, chosen };

struct Span {
    std::string text;
    Tone tone = Tone::plain;
};
using Line = std::vector<Span>;

struct Column {
    std::string title;
    bool is_number = false;
    int least = 0;      // minimum width; 0: it does not shrink
    int leaves_at = 0;  // hidden on terminals narrower than this
};

struct Cell {
    std::string text;
    Tone tone = Tone::plain;
    std::optional<double> number = std::nullopt;  // sort key; by default the text
};

struct SheetRow {
    std::string key;  // identifies the row: it stays selected when the order changes
    std::vector<Cell> cells;
};

struct Sheet {
    std::vector<Column> columns;
    std::vector<SheetRow> rows;
};

void without_last_column(Sheet &sheet);

// The widths of the columns in a terminal of this width; 0: hidden.
std::vector<int> widths(const Sheet &sheet, int width);

Line title_line(const Sheet &sheet, const std::vector<int> &widths, int sorted_by);
Line row_line(const Sheet &sheet, const SheetRow &row, const std::vector<int> &widths);

// Sorts by a column: numbers with the highest first, texts alphabetically. Equal rows keep their
// order.
void sort_rows(std::vector<SheetRow> &rows, int column, bool is_number);

// Keeps rows that have the text in any cell, ignoring case.
void filter_rows(std::vector<SheetRow> &rows, const std::string &text);

}  // namespace hipq::top
