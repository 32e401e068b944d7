// The columns of a job: the C++ table matches the install script, and the lists for statements are
// complete.
#include "core/job/columns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

namespace hipq::core {
namespace {

struct ScriptColumn {
    std::string name;
    std::string type;
    bool is_required = false;
};

// The columns of hipq.job in sql/install/job.sql, in order.
std::vector<ScriptColumn> columns_of_script()
{
    std::ifstream script(HIPQ_INSTALL_SCRIPTS "/job.sql");
    std::string line;
    while (std::getline(script, line) && line != "CREATE TABLE hipq.job (")
        continue;
    std::vector<ScriptColumn> columns;
    ScriptColumn column;
    while (std::getline(script, line) && std::istringstream(line) >> column.name >> column.type &&
           column.name != "CONSTRAINT") {
        column.type.erase(std::remove(column.type.begin(), column.type.end(), ','),
                          column.type.end());
        column.is_required = line.find(" NOT NULL") != std::string::npos;
        columns.push_back(column);
    }
    return columns;
}

// As the script spells it; the base type of domain hipq.time_windows is text.
std::string script_type(const ColumnDefinition &column)
{
    if (column.name == "time_windows")
        return "hipq.time_windows";
    switch (column.type) {
    case ColumnType::int2:
        return "smallint";
    case ColumnType::int4:
        return "integer";
    case ColumnType::int8:
        return "bigint";
    case ColumnType::numeric:
        return "numeric";
    case ColumnType::text:
        return "text";
    case ColumnType::timestamptz:
        return "timestamptz";
    case ColumnType::jsonb:
        return "jsonb";
    case ColumnType::job_state:
        return "hipq.job_state";
    }
    return "";
}

std::multiset<std::string> names_in(std::string_view list)
{
    std::multiset<std::string> names;
    std::istringstream words{std::string(list)};
    for (std::string word; words >> word;) {
        word.erase(std::remove(word.begin(), word.end(), ','), word.end());
        if (!word.empty())
            names.insert(word);
    }
    return names;
}

TEST(Columns, ThoseOfTheInstallScriptAreTheSame)
{
    const std::vector<ScriptColumn> script = columns_of_script();
    ASSERT_EQ(script.size(), column_count);
    for (std::size_t i = 0; i < column_count; ++i) {
        EXPECT_EQ(script[i].name, job_columns[i].name) << "column " << i + 1;
        EXPECT_EQ(script[i].type, script_type(job_columns[i])) << script[i].name;
        EXPECT_EQ(script[i].is_required, is_required(static_cast<Column>(i))) << script[i].name;
    }
}

TEST(Columns, EachIsFoundByItsName)
{
    for (std::size_t i = 0; i < column_count; ++i)
        EXPECT_EQ(find_column(job_columns[i].name), static_cast<Column>(i));
    EXPECT_EQ(name(Column::scheduled_run_time), "scheduled_run_time");
    EXPECT_FALSE(find_column("id_").has_value());
    EXPECT_FALSE(find_column("").has_value());
}

TEST(Columns, ListsForStatementsHoldEachColumnOnceThatTheStatementsDoNotName)
{
    const std::multiset<std::string> listed =
        names_in(HIPQ_OWN_COLUMNS("") HIPQ_GIVEN_COLUMNS("") HIPQ_ATTEMPT_COLUMNS(""));
    std::multiset<std::string> expected;
    std::set<std::string_view> named_by_statements;
    for (const ColumnDefinition &column : job_columns)
        if (column.origin == ColumnOrigin::single)
            named_by_statements.insert(column.name);
        else
            expected.emplace(column.name);
    EXPECT_EQ(listed, expected);
    EXPECT_EQ(named_by_statements,
              (std::set<std::string_view>{"queue_id", "max_retries", "job_data", "manual_reason",
                                          "waits_for", "batch_id", "schedule_time"}));
}

TEST(Columns, ListsForStatementsFollowTheTable)
{
    EXPECT_STREQ(HIPQ_GIVEN_COLUMNS("job."),
                 ", job.timeout, job.queue_ttl, job.priority, job.throttle_factor, job.job_type, "
                 "job.job_key, job.throttle_key, job.time_windows, job.shard_key, "
                 "job.traceparent");
    // The statement that writes a final row supplies values in this order.
    EXPECT_STREQ(HIPQ_ATTEMPT_COLUMNS(""), ", worker_id, update_time, deadline, state, attempt, "
                                           "error, retry_reason, result");
    EXPECT_EQ(column_list(ColumnKind::fixed),
              "queue_ttl, job_type, job_key, shard_key, traceparent, batch_id");
}

}  // namespace
}  // namespace hipq::core
