// A table of a screen: columns, rows, their order and filter; fits it into the terminal.
#include "screens/sheet.hpp"

#include "screens/text.hpp"

#include <algorithm>
#include <cctype>

namespace hipq::top {

namespace {

constexpr int gap = 1;

int natural_width(const Sheet &sheet, std::size_t column)
{
    int width = width_of(sheet.columns[column].title);
    for (const SheetRow &row : sheet.rows)
        width = std::max(width, width_of(row.cells[column].text));
    return width;
}

int sum_of(const std::vector<int> &widths)
{
    int sum = 0;
    for (const int width : widths)
        sum += width == 0 ? 0 : width + gap;
    return sum;
}

// Repeatedly shrinks the widest column that may shrink, until the table fits.
void shrink(const Sheet &sheet, std::vector<int> &widths, int most)
{
    while (sum_of(widths) > most) {
        int widest = -1;
        for (std::size_t i = 0; i < widths.size(); ++i)
            if (sheet.columns[i].least > 0 && widths[i] > sheet.columns[i].least &&
                (widest < 0 || widths[i] > widths[static_cast<std::size_t>(widest)]))
                widest = static_cast<int>(i);
        if (widest < 0)
            return;
        --widths[static_cast<std::size_t>(widest)];
    }
}

std::string lower(std::string text)
{
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

}  // namespace

void without_last_column(Sheet &sheet)
{
    sheet.columns.pop_back();
    for (SheetRow &row : sheet.rows)
        row.cells.pop_back();
}

std::vector<int> widths(const Sheet &sheet, int width)
{
    std::vector<int> result;
    for (std::size_t i = 0; i < sheet.columns.size(); ++i)
        result.push_back(width < sheet.columns[i].leaves_at ? 0 : natural_width(sheet, i));
    shrink(sheet, result, width + gap);
    return result;
}

Line title_line(const Sheet &sheet, const std::vector<int> &widths, int sorted_by)
{
    Line line;
    for (std::size_t i = 0; i < sheet.columns.size(); ++i) {
        if (widths[i] == 0)
            continue;
        const Tone tone = static_cast<int>(i) == sorted_by ? Tone::strong : Tone::title;
        line.push_back({fit(sheet.columns[i].title, widths[i], sheet.columns[i].is_number), tone});
        line.push_back({std::string(gap, ' '), Tone::title});
    }
    return line;
}

Line row_line(const Sheet &sheet, const SheetRow &row, const std::vector<int> &widths)
{
    Line line;
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
        if (widths[i] == 0)
            continue;
        const Cell &cell = row.cells[i];
        line.push_back(
            {fit(one_line(cell.text), widths[i], sheet.columns[i].is_number), cell.tone});
        line.push_back({std::string(gap, ' ')});
    }
    return line;
}

void sort_rows(std::vector<SheetRow> &rows, int column, bool is_number)
{
    const auto place = static_cast<std::size_t>(column);
    constexpr double nothing = -1e300;
    std::stable_sort(rows.begin(), rows.end(), [&](const SheetRow &a, const SheetRow &b) {
        const Cell &left = a.cells[place];
        const Cell &right = b.cells[place];
        if (is_number)
            return left.number.value_or(nothing) > right.number.value_or(nothing);
        return left.text < right.text;
    });
}

void filter_rows(std::vector<SheetRow> &rows, const std::string &text)
{
    if (text.empty())
        return;
    const std::string wanted = lower(text);
    std::erase_if(rows, [&](const SheetRow &row) {
        return std::none_of(row.cells.begin(), row.cells.end(), [&](const Cell &cell) {
            return lower(cell.text).find(wanted) != std::string::npos;
        });
    });
}

}  // namespace hipq::top
