// Which versions of library and extension work together.
#include "core/limits/versions.hpp"

#include <gtest/gtest.h>

using namespace hipq::core;

namespace {

TEST(Versions, one_is_the_same_as_itself_however_it_is_written)
{
    EXPECT_EQ(fit_of_versions("0.2.0", "0.2.0"), VersionFit::same);
    EXPECT_EQ(fit_of_versions("devel", "devel"), VersionFit::same);
}

TEST(Versions, patches_and_neighbouring_minor_versions_work_together_in_both_orders)
{
    EXPECT_EQ(fit_of_versions("0.2.0", "0.2.7"), VersionFit::together);
    EXPECT_EQ(fit_of_versions("0.3.0", "0.2.0"), VersionFit::together);
    EXPECT_EQ(fit_of_versions("0.2.0", "0.3.0"), VersionFit::together);
    EXPECT_EQ(fit_of_versions("1.9.3", "1.10.0"), VersionFit::together);
}

TEST(Versions, others_do_not)
{
    EXPECT_EQ(fit_of_versions("0.4.0", "0.2.0"), VersionFit::apart);
    EXPECT_EQ(fit_of_versions("0.2.0", "0.4.0"), VersionFit::apart);
    EXPECT_EQ(fit_of_versions("1.0.0", "0.9.0"), VersionFit::apart);
    EXPECT_EQ(fit_of_versions("1.1.0", "2.1.0"), VersionFit::apart);
}

TEST(Versions, what_is_no_version_fits_nothing)
{
    for (const char *text : {"", "0", "0.2", "0.2.", "0.2.0.1", "0.2.x", "0.2.0beta", " 0.2.0",
                             "0.-2.0", "99999999999.2.0", "not installed"})
        EXPECT_EQ(fit_of_versions("0.2.0", text), VersionFit::apart) << text;
}

TEST(Versions, are_ordered_by_number)
{
    EXPECT_TRUE(is_earlier("0.2.0", "0.10.0"));
    EXPECT_TRUE(is_earlier("0.9.9", "1.0.0"));
    EXPECT_FALSE(is_earlier("0.2.0", "0.2.0"));
    EXPECT_FALSE(is_earlier("0.2.1", "0.2.0"));
    EXPECT_FALSE(is_earlier("devel", "0.2.0"));
    EXPECT_FALSE(is_earlier("0.2.0", "devel"));
}

}  // namespace
