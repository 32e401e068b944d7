// Lines of a batch, of the log and of the metrics.
#include "batch/messages.hpp"

#include <gtest/gtest.h>

#include "log/log.hpp"
#include "single/variables.hpp"
#include "system/counts.hpp"

namespace hipq::run {

namespace {

std::string message_error(const std::string &line)
{
    try {
        read_answer(line);
    } catch (const std::invalid_argument &error) {
        return error.what();
    }
    return "none";
}

}  // namespace

TEST(Messages, HaveTheDataAsTheyStand)
{
    ClaimedJob job;
    job.id = 7;
    job.attempt = 2;
    job.queue = "app.mail";
    job.type = "welcome";
    job.key = "a \"key\"";
    job.data = R"({"n": 1.10})";
    EXPECT_EQ(job_line(job), R"({"id":7,"attempt":2,"queue":"app.mail","type":"welcome",)"
                             R"("key":"a \"key\"","deadline":null,"retry_count":0,)"
                             R"("max_retries":0,"data":{"n": 1.10}})"
                             "\n");
    EXPECT_EQ(over_line({7, 2}), "{\"id\":7,\"attempt\":2,\"over\":true}\n");
}

TEST(Messages, TellOfTheTraceIfThereIsOne)
{
    ClaimedJob job;
    job.data = "{}";
    EXPECT_EQ(job_line(job).find("traceparent"), std::string::npos);
    job.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    EXPECT_NE(job_line(job).find("\"traceparent\":\"" + *job.traceparent + "\""),
              std::string::npos);
}

TEST(Variables, TellOfKeyDeadlineAndTraceIfTheyAreThere)
{
    ClaimedJob job;
    const auto names = [&] {
        std::set<std::string> all;
        for (const auto &[name, value] : variables_of(job))
            all.insert(name);
        return all;
    };
    const std::set<std::string> always{"HIPQ_JOB_ID",     "HIPQ_ATTEMPT",     "HIPQ_JOB_TYPE",
                                       "HIPQ_QUEUE",      "HIPQ_RETRY_COUNT", "HIPQ_MAX_RETRIES",
                                       "HIPQ_PROGRESS_FD"};
    EXPECT_EQ(names(), always);
    job.key = "key";
    job.deadline = "2026-11-25T19:03:08.123Z";
    job.traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    std::set<std::string> all = always;
    all.insert({"HIPQ_JOB_KEY", "HIPQ_DEADLINE", "TRACEPARENT"});
    EXPECT_EQ(names(), all);
    EXPECT_EQ(variables_of(job).back().second, *job.traceparent);
}

TEST(Messages, AreEndingsOrProgress)
{
    const BatchAnswer done = read_answer(R"({"id": 7, "attempt": 2, "result": {"a": 1}})");
    EXPECT_EQ(done.id, 7);
    EXPECT_EQ(done.attempt, 2);
    EXPECT_EQ(done.ending->kind, Ending::Kind::complete);
    EXPECT_EQ(done.ending->text, R"({"a": 1})");
    EXPECT_EQ(read_answer(R"({"id": 7, "result": null})").ending->text, "null");
    EXPECT_TRUE(read_answer(R"({"id": 7, "error": "no"})").ending->retriable);
    EXPECT_FALSE(read_answer(R"({"id": 7, "error": "no", "retriable": false})").ending->retriable);
    EXPECT_EQ(read_answer(R"({"id": 7, "error": "no"})").ending->retry_after, std::nullopt);
    const auto delay = [](const std::string &json) {
        return read_answer("{\"id\": 7, \"error\": \"no\", \"retry_after\": " + json + "}")
            .ending->retry_after;
    };
    EXPECT_EQ(delay("\"5 min\""), "5 min");
    EXPECT_EQ(delay("300"), "300");
    EXPECT_EQ(delay("[1]"), "[1]");
    EXPECT_EQ(delay("null"), std::nullopt);
    EXPECT_EQ(read_answer(R"({"id": 7, "release": "1 min"})").ending->text, "1 min");
    const BatchAnswer said =
        read_answer(R"({"id": 7, "progress": 3, "total": 10, "message": "m"})");
    EXPECT_FALSE(said.ending);
    EXPECT_EQ(said.said->total, 10);
    EXPECT_EQ(read_answer(R"({"id": 7, "extend": "5 min"})").said->more_time, "5 min");
}

TEST(Messages, HaveErrorsWhateverTheyHold)
{
    const auto error = [](const std::string &json) {
        return read_answer("{\"id\": 7, \"error\": " + json + "}").ending->text;
    };
    EXPECT_EQ(error(R"("half \ud83d of it")"), "half \uFFFD of it");
    EXPECT_EQ(error(R"("\ude00\ud83d\ud83d\ude00\uD83D")"), "\uFFFD\uFFFD\U0001F600\uFFFD");
    EXPECT_EQ(error(R"("\\ud83d \ud83d\n")"), "\\ud83d \uFFFD\n");
    EXPECT_EQ(error(R"("a \u0000 b")"), "a \uFFFD b");
    EXPECT_EQ(error("\"caf\xE9\""), "caf\uFFFD");
    EXPECT_EQ(error(R"({"code": 1e400})"), R"({"code": 1e400})");
    EXPECT_EQ(error("null"), "null");
    EXPECT_EQ(message_error(R"({"id": 7, "error": "\ud83)"), "not a JSON object");
}

TEST(Messages, HaveResultsAsTheyStand)
{
    const auto result = [](const std::string &line) { return read_answer(line).ending->text; };
    for (const char *json :
         {"12345678901234567890123", "1.10", "1e400", "-0", "[1, [2.50]]", R"({"a": {"b": 1e999}})",
          R"("}\\\", ] \ud83d")", R"("")", "true", "NaN"}) {
        const std::string text = json;
        EXPECT_EQ(result("{\"id\": 7, \"result\": " + text + "}"), text);
        EXPECT_EQ(result("\xEF\xBB\xBF { \"result\" :\t" + text + "\r\n,\"id\":7 } "), text);
    }
    EXPECT_EQ(result(R"({"\u0069d": 7, "result": 1, "result": 2})"), "2");
    for (const char *none :
         {"", "{", "{}x", R"({"id": 7)", R"({"id": 7, })", R"({"id" 7})", R"({"id": })",
          R"({id: 7})", R"({"id": 7, "result": [1})", R"({"id": 7, "result": "a})",
          R"({"id": 7, "result": "a\"})", R"({"id": 7, "result": 1}})", R"({"id": 7, "result": 1)"})
        EXPECT_EQ(message_error(none), "not a JSON object") << none;
    EXPECT_EQ(message_error("{}"), "member \"id\" is missing or of another type");
}

TEST(Messages, FailTheirJobWhenTheyAreTooLong)
{
    const BatchAnswer result = read_long_answer(R"({"id": 7, "attempt": 2, "result": [1, 2, )");
    EXPECT_EQ(result.id, 7);
    EXPECT_EQ(result.attempt, 2);
    EXPECT_EQ(result.ending->text, "the answer is longer than --max-output allows");
    EXPECT_FALSE(result.ending->retriable);
    const BatchAnswer error = read_long_answer(R"({"id": 7, "error": "no such)");
    EXPECT_EQ(error.ending->text, " \"no such");
    EXPECT_TRUE(error.ending->retriable);
    EXPECT_FALSE(
        read_long_answer(R"({"id": 7, "retriable": false, "error": "n)").ending->retriable);
    const BatchAnswer later = read_long_answer(R"({"id": 7, "retry_after": "1 h", "error": "n)");
    EXPECT_EQ(later.ending->text, " \"n");
    EXPECT_EQ(later.ending->retry_after, "1 h");
    EXPECT_THROW(read_long_answer(R"({"result": [1, 2, )"), std::invalid_argument);
}

TEST(Messages, SayWhatIsWrong)
{
    EXPECT_EQ(message_error("nonsense"), "not a JSON object");
    EXPECT_EQ(message_error("[7]"), "not a JSON object");
    EXPECT_EQ(message_error(R"({"result": 1})"), "member \"id\" is missing or of another type");
    EXPECT_EQ(message_error(R"({"id": "7", "result": 1})"),
              "member \"id\" is missing or of another type");
    EXPECT_EQ(message_error(R"({"id": 7, "error": "e", "retriable": 1})"),
              "member \"retriable\" is missing or of another type");
    EXPECT_EQ(message_error(R"({"id": 7})").substr(0, 9), "no member");
}

TEST(LogLines, AreTextOrJson)
{
    const LogEntry entry{Level::error, "job failed", "say \"so\"\nagain\n", 7, 2, "welcome"};
    EXPECT_EQ(text_line(entry, "now"),
              "now error: job failed: job 7 (welcome, attempt 2): say \"so\" again");
    EXPECT_EQ(json_line(entry, "now"),
              R"({"time":"now","level":"error","event":"job failed","job_id":7,"attempt":2,)"
              R"("type":"welcome","message":"say \"so\" again"})");
    EXPECT_EQ(text_line({Level::info, "draining"}, "now"), "now info: draining");
}

TEST(Counts, AreAHistogramAndSums)
{
    Counts counts;
    counts.ended("succeeded", 0.05);
    counts.ended("succeeded", 2);
    counts.ended("failed", 10'000);
    counts.reconnected();
    const std::string text = counts.text({3, true, 4, 5, 6});
    for (const char *line :
         {"hipq_run_jobs_total{outcome=\"succeeded\"} 2", "hipq_run_jobs_total{outcome=\"lost\"} 0",
          "hipq_run_job_seconds_bucket{le=\"0.1\"} 1", "hipq_run_job_seconds_bucket{le=\"5\"} 2",
          "hipq_run_job_seconds_bucket{le=\"+Inf\"} 3", "hipq_run_job_seconds_count 3",
          "hipq_run_jobs_running 3", "hipq_run_answers_waiting 4", "hipq_run_connected 1",
          "hipq_run_connections_lost_total 1", "hipq_run_spans_exported_total 5",
          "hipq_run_spans_dropped_total 6"})
        EXPECT_NE(text.find(std::string(line) + "\n"), std::string::npos) << line;
}

}  // namespace hipq::run
