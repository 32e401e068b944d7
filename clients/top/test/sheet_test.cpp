// Tables: which columns fit, the order of rows, and which rows are left out.
#include "screens/sheet.hpp"

#include <gtest/gtest.h>

namespace hipq::top {

namespace {

Sheet sample()
{
    return {{{"queue", false, 4}, {"jobs", true}, {"more", true, 0, 60}},
            {{"1", {{"app.mail"}, {"10", Tone::plain, 10}, {"7", Tone::plain, 7}}},
             {"2", {{"app.a_long_name"}, {"9", Tone::plain, 9}, {"-"}}},
             {"3", {{"shop.Web"}, {"100", Tone::plain, 100}, {"8", Tone::plain, 8}}}}};
}

std::string text_of(const Line &line)
{
    std::string text;
    for (const Span &span : line)
        text += span.text;
    return text;
}

std::string keys_of(const std::vector<SheetRow> &rows)
{
    std::string keys;
    for (const SheetRow &row : rows)
        keys += row.key;
    return keys;
}

TEST(Sheet, ColumnsAreAsWideAsWhatIsInThem)
{
    EXPECT_EQ(widths(sample(), 100), (std::vector<int>{15, 4, 4}));
}

TEST(Sheet, SomeColumnsLeaveANarrowTerminal)
{
    EXPECT_EQ(widths(sample(), 59), (std::vector<int>{15, 4, 0}));
}

TEST(Sheet, ColumnsShrinkAsFarAsTheyMay)
{
    EXPECT_EQ(widths(sample(), 15), (std::vector<int>{10, 4, 0}));
    EXPECT_EQ(widths(sample(), 2), (std::vector<int>{4, 4, 0}));
}

TEST(Sheet, RowsAreAligned)
{
    const Sheet sheet = sample();
    const auto columns = widths(sheet, 14);
    EXPECT_EQ(text_of(title_line(sheet, columns, 1)), "queue     jobs ");
    EXPECT_EQ(text_of(row_line(sheet, sheet.rows[1], columns)), "app.a_lo…    9 ");
}

TEST(Sheet, NumbersSortDownwardsAndTextsUpwards)
{
    Sheet sheet = sample();
    sort_rows(sheet.rows, 1, true);
    EXPECT_EQ(keys_of(sheet.rows), "312");
    sort_rows(sheet.rows, 2, true);
    EXPECT_EQ(keys_of(sheet.rows), "312") << "what has no number comes last";
    sort_rows(sheet.rows, 0, false);
    EXPECT_EQ(keys_of(sheet.rows), "213");
}

TEST(Sheet, FilterLooksAtAllCells)
{
    Sheet sheet = sample();
    filter_rows(sheet.rows, "WEB");
    EXPECT_EQ(keys_of(sheet.rows), "3");
    filter_rows(sheet.rows, "nowhere");
    EXPECT_TRUE(sheet.rows.empty());
}

}  // namespace

}  // namespace hipq::top
