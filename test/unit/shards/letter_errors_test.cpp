#include "core/shards/letter_errors.hpp"

#include <gtest/gtest.h>

namespace hipq::core {
namespace {

TEST(LetterErrors, BlameTheJobForWhatItsDataAndTriggersRaise)
{
    for (const char *sqlstate : {"22023", "23505", "23514", "42501", "42704", "42883", "54000",
                                 "55000", "P0001", "P0004", "2F005", "38000", "XX000", "ZZ999"})
        EXPECT_TRUE(is_about_sent_job(sqlstate)) << sqlstate;
}

TEST(LetterErrors, BlameTheServerForLocksResourcesAndOperators)
{
    for (const char *sqlstate : {"08006", "25006", "40001", "40P01", "53100", "53200", "53400",
                                 "55P03", "57014", "57P01", "58030"})
        EXPECT_FALSE(is_about_sent_job(sqlstate)) << sqlstate;
}

TEST(LetterErrors, WhatMayNotBeChangedYetIsWaitedFor)
{
    EXPECT_TRUE(may_fit_later("55006"));
    EXPECT_TRUE(may_fit_later("55000"));
    EXPECT_FALSE(may_fit_later("42704"));
    EXPECT_FALSE(may_fit_later("42883"));
}

}  // namespace
}  // namespace hipq::core
