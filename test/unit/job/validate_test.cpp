// The limits of fields that users choose, at their bounds.
#include "core/job/validate.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace hipq::core {
namespace {

constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

using IntegerCheck = std::optional<Problem> (*)(std::int64_t);
using WeightCheck = std::optional<Problem> (*)(double);

void expect_style(const Problem &problem)
{
    ASSERT_FALSE(problem.message.empty());
    EXPECT_TRUE(problem.message.front() >= 'a' && problem.message.front() <= 'z')
        << problem.message;
    EXPECT_NE(problem.message.back(), '.') << problem.message;
    ASSERT_FALSE(problem.hint.empty());
    EXPECT_TRUE(problem.hint.front() >= 'A' && problem.hint.front() <= 'Z') << problem.hint;
    EXPECT_EQ(problem.hint.back(), '.') << problem.hint;
}

void expect_problem(const std::optional<Problem> &problem, Problem::Kind kind,
                    std::string_view message)
{
    ASSERT_TRUE(problem.has_value()) << message;
    EXPECT_EQ(problem->kind, kind) << message;
    EXPECT_EQ(problem->message, message);
    expect_style(*problem);
}

void expect_range(IntegerCheck check, std::string_view field, std::int64_t least, std::int64_t most)
{
    for (std::int64_t value : {least, least + 1, most - 1, most})
        EXPECT_FALSE(check(value).has_value()) << field << ' ' << value;
    for (std::int64_t value : {smallest, least - 1, most + 1, largest})
        expect_problem(check(value), Problem::Kind::invalid_value,
                       std::string{field} + " " + std::to_string(value) + " is out of range");
}

void expect_weight(WeightCheck check, double end)
{
    for (double value : {0.0, -0.0, 0.001, 1.0, end - 0.001})
        EXPECT_FALSE(check(value).has_value()) << value;
    for (double value :
         {-0.001, -1.0, end, end * 2, infinity, -infinity, not_a_number, -not_a_number}) {
        const std::optional<Problem> problem = check(value);
        ASSERT_TRUE(problem.has_value()) << value;
        EXPECT_EQ(problem->kind, Problem::Kind::invalid_value);
        expect_style(*problem);
    }
}

TEST(Validate, WorkerName)
{
    EXPECT_FALSE(check_worker_name("mailer-1@host").has_value());
    EXPECT_FALSE(check_worker_name(std::string(63, 'x')).has_value());
    EXPECT_TRUE(check_worker_name(std::string(64, 'x')).has_value());
    EXPECT_TRUE(check_worker_name("").has_value());
    EXPECT_TRUE(check_worker_name("two\nlines").has_value());
}

TEST(Validate, Timeout)
{
    expect_range(check_timeout, "timeout", 1, 2147483647);
    EXPECT_EQ(check_timeout(0)->hint, "Give a number of seconds between 1 and 2147483647.");
}

TEST(Validate, QueueTtl)
{
    expect_range(check_queue_ttl, "queue_ttl", 1, 2147483647);
    expect_range(check_queue_weight, "weight", 1, 1000);
}

TEST(Validate, MaxRetries)
{
    expect_range(check_max_retries, "max_retries", 0, 1'000'000);
    EXPECT_EQ(check_max_retries(-1)->hint, "Give a number between 0 and 1000000.");
}

TEST(Validate, DeadLetterMax)
{
    expect_range(check_dead_letter_max, "dead_letter_max", 1, 2147483647);
}

TEST(Validate, Priority)
{
    expect_range(check_priority, "priority", -32768, 32767);
}

TEST(Validate, ThrottleFactor)
{
    expect_weight(check_throttle_factor, 1e6);
    expect_problem(check_throttle_factor(-0.5), Problem::Kind::invalid_value,
                   "throttle_factor -0.5 is out of range");
    expect_problem(check_throttle_factor(infinity), Problem::Kind::invalid_value,
                   "throttle_factor inf is out of range");
    expect_problem(check_throttle_factor(0.0004), Problem::Kind::invalid_value,
                   "throttle_factor 4e-04 is out of range");
    EXPECT_FALSE(check_throttle_factor(0.0005).has_value());
    EXPECT_EQ(check_throttle_factor(0.0004)->hint,
              "It is kept with three decimals. Give at least 0.001, or 0 for a job that is free.");
    EXPECT_EQ(check_throttle_factor(-1)->hint,
              "Give a number that is at least 0 and less than 1000000.");
}

TEST(Validate, ThrottleLimit)
{
    for (const double limit : {-5.0, 0.0, 0.5, 1.0, 999'999'999.0})
        EXPECT_FALSE(check_throttle_limit(limit).has_value()) << limit;
    expect_problem(check_throttle_limit(1e9), Problem::Kind::invalid_value,
                   "throttle_limit 1e+09 is out of range");
    expect_problem(check_throttle_limit(not_a_number), Problem::Kind::invalid_value,
                   "throttle_limit nan is out of range");
    EXPECT_EQ(check_throttle_limit(infinity)->hint,
              "Give a number of less than 1000000000; below 1 there is no limit.");
}

TEST(Validate, JobKey)
{
    for (const std::string &key : {std::string{"a"}, std::string{none_text},
                                   std::string(max_job_key_length, 'k'), std::string{" "}})
        EXPECT_FALSE(check_job_key(key).has_value()) << key;
    expect_problem(check_job_key(""), Problem::Kind::invalid_value, "job_key must not be empty");
    expect_problem(check_job_key(std::string(max_job_key_length + 1, 'k')),
                   Problem::Kind::too_large, "job_key of 1001 bytes is too long");
}

TEST(Validate, ThrottleKey)
{
    for (const std::string &key :
         {std::string{"a"}, std::string{none_text}, std::string(max_throttle_key_length, 'k')})
        EXPECT_FALSE(check_throttle_key(key).has_value()) << key;
    expect_problem(check_throttle_key(""), Problem::Kind::invalid_value,
                   "throttle_key must not be empty");
    expect_problem(check_throttle_key(std::string(5000, 'k')), Problem::Kind::too_large,
                   "throttle_key of 5000 bytes is too long");
}

TEST(Validate, JobType)
{
    EXPECT_FALSE(check_job_type("welcome").has_value());
    EXPECT_FALSE(check_job_type(std::string(63, 't')).has_value());
    expect_problem(check_job_type(""), Problem::Kind::invalid_value, "job_type must not be empty");
    expect_problem(check_job_type(std::string(64, 't')), Problem::Kind::invalid_value,
                   "job_type is not a valid name");
    expect_problem(check_job_type("a\nb"), Problem::Kind::invalid_value,
                   "job_type is not a valid name");
}

TEST(Validate, JobDataSize)
{
    EXPECT_FALSE(check_job_data_size(0, 0).has_value());
    EXPECT_FALSE(check_job_data_size(100, 100).has_value());
    expect_problem(check_job_data_size(101, 100), Problem::Kind::too_large,
                   "job_data of 101 bytes is too large");
    EXPECT_EQ(check_job_data_size(101, 100)->hint,
              "The limit is 100 bytes; store the data in a table and pass its key.");
    EXPECT_FALSE(check_result_size(100, 100).has_value());
    expect_problem(check_result_size(101, 100), Problem::Kind::too_large,
                   "result of 101 bytes is too large");
}

TEST(Validate, TraceparentIsThatOfW3CTraceContext)
{
    const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    const std::string parent = "00f067aa0ba902b7";
    for (const std::string &good :
         {"00-" + trace + "-" + parent + "-01", "01-" + trace + "-" + parent + "-ff"})
        EXPECT_FALSE(check_traceparent(good).has_value()) << good;
    for (const std::string &bad :
         {std::string(), "00-" + trace + "-" + parent, "00-" + trace + "-" + parent + "-01-more",
          "ff-" + trace + "-" + parent + "-01", "00-" + std::string(32, '0') + "-" + parent + "-01",
          "00-" + trace + "-" + std::string(16, '0') + "-01", "00-" + trace + "-" + parent + "-0G",
          "00_" + trace + "-" + parent + "-01",
          "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + parent + "-01"})
        expect_problem(check_traceparent(bad), Problem::Kind::invalid_value,
                       "traceparent is not valid");
}

}  // namespace
}  // namespace hipq::core
