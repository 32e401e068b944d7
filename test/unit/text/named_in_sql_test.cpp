// The tables and columns that a statement names.
#include "core/text/named_in_sql.hpp"

#include <gtest/gtest.h>

namespace hipq::core {
namespace {

std::string tables_of(std::string_view sql)
{
    std::string text;
    for (const NamedTable &table : tables_named_in(sql))
        text += (text.empty() ? "" : ", ") + table.name + "=" + table.alias;
    return text;
}

std::string column_of(std::string_view sql, std::string_view from)
{
    const NamedColumn column = column_named_at(sql, sql.find(from));
    return column.table + "/" + column.name;
}

TEST(NamedInSql, Tables)
{
    EXPECT_EQ(tables_of(""), "");
    EXPECT_EQ(tables_of("SELECT 1 FROM hipq.queue"), "queue=queue");
    EXPECT_EQ(tables_of("SELECT 1 FROM hipq.queue AS a JOIN hipq.job_type AS b USING (x)"),
              "queue=a, job_type=b");
    EXPECT_EQ(tables_of("INSERT INTO hipq.attempt (a, b) SELECT 1"), "attempt=attempt");
    EXPECT_EQ(tables_of(R"(UPDATE hipq."Odd ""x" AS "Y" SET a = 1)"), R"(Odd "x=Y)");
    EXPECT_EQ(tables_of(R"(hipq."open)"), "open=open");
    EXPECT_EQ(tables_of("hipq."), "");
}

TEST(NamedInSql, WhatIsNoTable)
{
    EXPECT_EQ(
        tables_of(
            "SELECT hipq._is_one_of(1), 'hipq.job'::regclass, myhipq.x, \"hipq.y\" FROM hipq.job"),
        "job=job");
}

TEST(NamedInSql, Columns)
{
    constexpr std::string_view sql =
        R"(SELECT queue.weight, name, hipq.queue.id, "A b"."c""d" FROM hipq.queue)";
    EXPECT_EQ(column_of(sql, "queue.weight"), "queue/weight");
    EXPECT_EQ(column_of(sql, "name"), "/name");
    EXPECT_EQ(column_of(sql, "hipq.queue.id"), "queue/id");
    EXPECT_EQ(column_of(sql, "\"A b\""), "A b/c\"d");
    EXPECT_EQ(column_of(sql, ", name"), "/");
    EXPECT_EQ(column_named_at(sql, 1000).name, "");
}

}  // namespace
}  // namespace hipq::core
