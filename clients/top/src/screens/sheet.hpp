// A table of a screen: columns, rows, their order and filter; and how it fits the terminal. Pure:
// nothing here knows of a terminal or a server.
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
    int least = 0;      // the fewest columns that it may shrink to; 0: it does not shrink
    int leaves_at = 0;  // narrower than so many columns the terminal does without it
};

struct Cell {
    std::string text;
    Tone tone = Tone::plain;
    std::optional<double> number = std::nullopt;  // what it is sorted by; else by its text
};

struct SheetRow {
    std::string key;  // what the row is about: it stays chosen when the order changes
    std::vector<Cell> cells;
};

struct Sheet {
    std::vector<Column> columns;
    std::vector<SheetRow> rows;
};

// Widths of the columns in a terminal of so many columns; 0: it is not shown.
std::vector<int> widths(const Sheet &sheet, int width);

Line title_line(const Sheet &sheet, const std::vector<int> &widths, int sorted_by);
Line row_line(const Sheet &sheet, const SheetRow &row, const std::vector<int> &widths);

// Sorts by a column: numbers the highest first, texts by the alphabet. What is equal keeps its
// order.
void sort_rows(std::vector<SheetRow> &rows, int column, bool is_number);

// Keeps rows that have the text in some cell, whatever the case.
void filter_rows(std::vector<SheetRow> &rows, const std::string &text);

}  // namespace hipq::top
