// The two texts of statements, for an extension of this release and for an older one.
#include "extension.hpp"

#include <gtest/gtest.h>

namespace hipq::program {

namespace {

TEST(Extension, ChoosesTheTextsOfAStatement)
{
    const std::string statement = "SELECT {0.3? held : NULL::bigint} AS held, '{}' FROM a"
                                  " WHERE {0.3? waits_for : NULL::text} IS NULL";
    ASSERT_TRUE(has_choices(statement));
    EXPECT_EQ(with_choices(statement, true),
              "SELECT held AS held, '{}' FROM a WHERE waits_for IS NULL");
    EXPECT_EQ(with_choices(statement, false),
              "SELECT NULL::bigint AS held, '{}' FROM a WHERE NULL::text IS NULL");
}

TEST(Extension, LeavesOtherBracesAlone)
{
    EXPECT_FALSE(has_choices("SELECT '{}'::bigint[], '{0}'"));
    EXPECT_EQ(with_choices("SELECT '{a : b}'", true), "SELECT '{a : b}'");
    EXPECT_EQ(with_choices("SELECT {0.3? a", true), "SELECT {0.3? a");
}

}  // namespace

}  // namespace hipq::program
