// Cut texts keep their beginning and show their original length.
#include "core/text/cut.hpp"

#include <gtest/gtest.h>

namespace hipq::core {
namespace {

// For an encoding in which each character has two bytes.
std::size_t two_byte_border(std::string_view, std::size_t end)
{
    return end - end % 2;
}

TEST(Cut, LeavesWhatIsShortEnough)
{
    EXPECT_EQ(cut("", 100, utf8_border), "");
    EXPECT_EQ(cut(std::string(100, 'x'), 100, utf8_border), std::string(100, 'x'));
}

TEST(Cut, SaysHowLongItWas)
{
    EXPECT_EQ(cut(std::string(101, 'x'), 30, utf8_border), "xxxxxxxxxx... (cut, 101 bytes)");
}

TEST(Cut, IsNeverLongerThanItsBound)
{
    for (std::size_t size = 31; size < 2'000; size += 7)
        EXPECT_LE(cut(std::string(size, 'x'), 30, utf8_border).size(), 30U) << size;
}

TEST(Cut, LeavesWhatItHasCut)
{
    const std::string once = cut(std::string(5'000, 'x'), 100, utf8_border);
    EXPECT_EQ(cut(once, 100, utf8_border), once);
}

TEST(Cut, KeepsCharactersWhole)
{
    std::string text;
    while (text.size() < 200)
        text += "\xe2\x82\xac";  // the Euro sign
    for (std::size_t most = 40; most < 80; ++most) {
        const std::string result = cut(text, most, utf8_border);
        EXPECT_EQ(result.find('.') % 3, 0U) << most;
        EXPECT_LE(result.size(), most);
    }
}

TEST(Cut, AsksWhereCharactersEnd)
{
    EXPECT_EQ(cut(std::string(200, 'x'), 31, two_byte_border), "xxxxxxxxxx... (cut, 200 bytes)");
}

TEST(Utf8Border, IsBetweenCharacters)
{
    const std::string_view text =
        "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80";  // characters of one, two, three and four bytes
    const std::size_t borders[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
    for (std::size_t end = 0; end <= text.size(); ++end)
        EXPECT_EQ(utf8_border(text, end), borders[end]) << end;
}

// Invalid UTF-8 also ends somewhere.
TEST(Utf8Border, EndsInWhatIsNoUtf8)
{
    EXPECT_EQ(utf8_border("\x80\x80\x80", 2), 0U);
}

}  // namespace
}  // namespace hipq::core
