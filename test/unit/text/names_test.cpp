// Names of instances, queues, job types and tables.
#include "core/text/names.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace hipq::core {
namespace {

const std::string longest_name(max_identifier_length, 'a');
const std::string too_long_name(max_identifier_length + 1, 'a');

TEST(Names, ValidNames)
{
    for (std::string_view name :
         {"a", "app", "app_mail", "a_", "a__b", "hipq", "main", "tenant_42", "a1"})
        EXPECT_TRUE(is_valid_name(name)) << name;
    EXPECT_TRUE(is_valid_name(longest_name));
}

TEST(Names, InvalidNames)
{
    for (std::string_view name : {"", "_", "_app", "App", "1app", "1", "app-mail", "app.mail",
                                  " app", "app ", "caf\xc3\xa9"})
        EXPECT_FALSE(is_valid_name(name)) << name;
    EXPECT_FALSE(is_valid_name(too_long_name));
    EXPECT_FALSE(is_valid_name(std::string_view{"a\0b", 3}));
}

TEST(Names, JobTypes)
{
    for (std::string_view name :
         {"welcome", "Send Mail", "mail.send/v2", "_", "1", " ", "'; drop", "caf\xc3\xa9", "\xff"})
        EXPECT_TRUE(is_valid_job_type(name)) << name;
    EXPECT_TRUE(is_valid_job_type(longest_name));
    EXPECT_FALSE(is_valid_job_type(too_long_name));
    EXPECT_FALSE(is_valid_job_type(""));
}

TEST(Names, JobTypesHaveNoControlCharacters)
{
    for (int c = 0; c < 256; ++c) {
        const std::string name{'a', static_cast<char>(c), 'b'};
        EXPECT_EQ(is_valid_job_type(name), c >= 0x20 && c != 0x7f) << c;
    }
}

TEST(Names, QueueNamesHaveTwoParts)
{
    EXPECT_EQ(parse_queue_name("app.mail"), (QueueName{"app", "mail"}));
    EXPECT_EQ(parse_queue_name("hipq.main"), (QueueName{"hipq", "main"}));
    EXPECT_EQ(parse_queue_name(longest_name + "." + longest_name),
              (QueueName{longest_name, longest_name}));
}

TEST(Names, OtherTextsAreNoQueueName)
{
    for (std::string_view text :
         {"", ".", "app", "app.", ".mail", "app.mail.x", "app..mail", "App.mail", "app._mail",
          "app mail", " app.mail", "app.1mail", "app_mail"})
        EXPECT_EQ(parse_queue_name(text), std::nullopt) << text;
    EXPECT_EQ(parse_queue_name(too_long_name + ".mail"), std::nullopt);
    EXPECT_EQ(parse_queue_name("app." + too_long_name), std::nullopt);
}

TEST(Names, DefaultTableNames)
{
    EXPECT_EQ(default_table_name({"app", "mail"}), "app_mail");
    EXPECT_EQ(default_table_name({"hipq", "main"}), "main");
    EXPECT_EQ(default_table_name({"hipqs", "main"}), "hipqs_main");
}

TEST(Names, UsableTableNames)
{
    for (std::string_view table :
         {"main", "app_mail", "a", "app2_mail", "a_", "jobber", "jobs_mail", "workers_x", "my_job",
          "queued", "app_p2026112", "app_20261129", "running_jobs", "attempting_x", "identities",
          "dead_letter2"})
        EXPECT_EQ(table_name_problem(table), std::nullopt) << table;
}

TEST(Names, TableNamesOfTheWrongForm)
{
    const std::pair<std::string_view, std::string_view> cases[]{
        {"", "is empty"},
        {"_mail", "does not start with a lower-case letter"},
        {"1mail", "does not start with a lower-case letter"},
        {"Mail", "does not start with a lower-case letter"},
        {"app mail", "has characters other than lower-case letters, digits and underscores"},
        {"app.mail", "has characters other than lower-case letters, digits and underscores"},
        {"appMail", "has characters other than lower-case letters, digits and underscores"},
        {"app\"mail", "has characters other than lower-case letters, digits and underscores"},
        {"caf\xc3\xa9", "has characters other than lower-case letters, digits and underscores"},
        {"app_mail_final_p20261129", "ends like a leaf by time (\"_p20261129\")"},
        {"app_p202611291305", "ends like a leaf by time (\"_p20261129\")"},
    };
    for (const auto &[table, problem] : cases)
        EXPECT_EQ(table_name_problem(table), problem) << table;
}

TEST(Names, LengthOfTableNames)
{
    EXPECT_EQ(table_name_problem(longest_name), std::nullopt);
    EXPECT_EQ(table_name_problem(too_long_name), "is longer than 63 bytes");
}

TEST(Names, LeavesOfShortTables)
{
    EXPECT_EQ(live_leaf_name("app_mail"), "app_mail_live");
    EXPECT_EQ(final_tree_name("app_mail"), "app_mail_final");
    EXPECT_EQ(key_index_name("app_mail"), "app_mail_one_unfinished_job_per_type_and_key");
    const std::string longest_short(27, 'a');
    EXPECT_EQ(live_leaf_name(longest_short), longest_short + "_live");
    EXPECT_EQ(key_index_name(longest_short).size(), max_identifier_length);
}

// Databases contain these names: they must never change.
TEST(Names, LeavesOfLongTables)
{
    EXPECT_EQ(live_leaf_name("billing_service_invoice_emails"),
              "billing_service_invoice_ema_ed53dff4_live");
    EXPECT_EQ(final_tree_name("billing_service_invoice_emails"),
              "billing_service_invoice_ema_ed53dff4_final");
    EXPECT_EQ(key_index_name("billing_service_invoice_emails"),
              "billing_service_invoice_ema_ed53dff4_one_unfinished_job_per_key");
}

TEST(Names, LeavesOfLongTablesAreOfOneTableOnly)
{
    const std::string start(max_identifier_length - 1, 'a');
    std::set<std::string> names;
    for (char last = 'a'; last <= 'z'; ++last)
        for (const std::string &name :
             {live_leaf_name(start + last), final_tree_name(start + last) + "_p202611251305_key",
              key_index_name(start + last)}) {
            EXPECT_LE(name.size(), max_identifier_length);
            names.insert(name);
        }
    EXPECT_EQ(names.size(), 3U * 26);
}

TEST(Names, TablesAndViewsOfHipq)
{
    for (std::string_view table :
         {"schedule",    "dependency",    "graph_job", "pause",        "attempt",
          "dead_letter", "identity",      "instance",  "job",          "job_type",
          "queue",       "worker",        "attempts",  "dead_letters", "executors",
          "instances",   "job_types",     "jobs",      "queues",       "running",
          "sizes",       "alerts",        "progress",  "workers",      "healthy_workers",
          "lanes",       "throttle_keys", "schedules", "jobs_detail",  "workers_detail"}) {
        const std::optional<std::string> problem = table_name_problem(table);
        ASSERT_TRUE(problem.has_value()) << table;
        // job_type and its plural also start like job; the more specific reason wins.
        EXPECT_EQ(*problem, "is a name of hipq's own") << table;
    }
}

TEST(Names, TablesThatStartLikeOnesOfHipq)
{
    const std::pair<std::string_view, std::string_view> cases[]{
        {"attempt_x", "attempt_"},
        {"schedule_x", "schedule_"},
        {"dependency_x", "dependency_"},
        {"graph_job_x", "graph_job_"},
        {"pause_x", "pause_"},
        {"dead_letter_", "dead_letter_"},
        {"identity_a", "identity_"},
        {"instance_x", "instance_"},
        {"job_live", "job_"},
        {"job_type_x", "job_"},
        {"queue_a_b", "queue_"},
        {"worker_status", "worker_"},
    };
    for (const auto &[table, prefix] : cases)
        EXPECT_EQ(table_name_problem(table),
                  "starts like a table of hipq's own (\"" + std::string{prefix} + "\")")
            << table;
}

TEST(Names, DefaultTablesOfAwkwardQueues)
{
    EXPECT_TRUE(table_name_problem(default_table_name({"hipq", "job"})).has_value());
    EXPECT_TRUE(table_name_problem(default_table_name({"job", "mail"})).has_value());
    EXPECT_TRUE(table_name_problem(default_table_name({"dead", "letter"})).has_value());
    EXPECT_TRUE(table_name_problem(default_table_name({"healthy", "workers"})).has_value());
    EXPECT_FALSE(table_name_problem(default_table_name({"app", "job"})).has_value());
}

TEST(Names, OfLinesComeApartAsTheyWereComposed)
{
    EXPECT_EQ(parse_line(line_to_shard("hipq_0123abcd", 1)), (LineName{"hipq_0123abcd", 1, false}));
    EXPECT_EQ(parse_line(line_from_shard("hipq_0123abcd", 1023)),
              (LineName{"hipq_0123abcd", 1023, true}));
    EXPECT_EQ(parse_line(line_from_shard("a_to_7", 2)), (LineName{"a_to_7", 2, true}));
    for (const char *name : {"", "_", "orders", "hipq_0123abcd_to_", "hipq_0123abcd_to_x",
                             "hipq_0123abcd_to_01", "hipq_0123abcd_to_-1", "hipq_0123abcd_at_1",
                             "hipq_0123abcd_to_99999999999", "to_1", "hipqto_1"})
        EXPECT_EQ(parse_line(name), std::nullopt) << name;
}

}  // namespace
}  // namespace hipq::core
