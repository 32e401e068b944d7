// Metrics as OpenMetrics text: heads, escapes, counters, histograms.
#include "metrics/exposition.hpp"

#include <gtest/gtest.h>

namespace hipq::metrics {

namespace {

Labels of_queue(std::string_view queue)
{
    Labels labels;
    labels.add("queue", queue);
    return labels;
}

TEST(OpenMetrics, EndsEvenWithoutMetrics)
{
    EXPECT_EQ(Exposition().finish(), "# EOF\n");
}

TEST(OpenMetrics, GaugesHaveTheirUnit)
{
    Exposition exposition;
    exposition.begin_family("hipq_queue_due_seconds", Usage::gauge, "how long");
    exposition.add(of_queue("app.mail"), "2.5");
    exposition.add(Labels{}, "Infinity");
    EXPECT_EQ(exposition.finish(), "# TYPE hipq_queue_due_seconds gauge\n"
                                   "# UNIT hipq_queue_due_seconds seconds\n"
                                   "# HELP hipq_queue_due_seconds how long\n"
                                   "hipq_queue_due_seconds{queue=\"app.mail\"} 2.5\n"
                                   "hipq_queue_due_seconds +Inf\n"
                                   "# EOF\n");
}

TEST(OpenMetrics, CountersAreFamiliesWithoutTotal)
{
    Exposition exposition;
    exposition.begin_family("hipq_jobs_failed_total", Usage::counter, "jobs");
    exposition.add(of_queue("a"), "7");
    EXPECT_EQ(exposition.finish(), "# TYPE hipq_jobs_failed counter\n"
                                   "# HELP hipq_jobs_failed jobs\n"
                                   "hipq_jobs_failed_total{queue=\"a\"} 7\n"
                                   "# EOF\n");
}

TEST(OpenMetrics, ValuesOfLabelsAreEscaped)
{
    EXPECT_EQ(of_queue("a\"b\\c\nd").text, R"(queue="a\"b\\c\nd")");
}

TEST(OpenMetrics, HistogramsEndWithInfinity)
{
    Exposition exposition;
    exposition.begin_family("hipq_job_run_seconds", Usage::histogram, "ran");
    exposition.add(of_queue("a"), HistogramValues{"{0.001024,0.002048}", "{1,3}", "0.5", "4"});
    EXPECT_EQ(exposition.finish(), "# TYPE hipq_job_run_seconds histogram\n"
                                   "# UNIT hipq_job_run_seconds seconds\n"
                                   "# HELP hipq_job_run_seconds ran\n"
                                   "hipq_job_run_seconds_bucket{queue=\"a\",le=\"0.001024\"} 1\n"
                                   "hipq_job_run_seconds_bucket{queue=\"a\",le=\"0.002048\"} 3\n"
                                   "hipq_job_run_seconds_bucket{queue=\"a\",le=\"+Inf\"} 4\n"
                                   "hipq_job_run_seconds_sum{queue=\"a\"} 0.5\n"
                                   "hipq_job_run_seconds_count{queue=\"a\"} 4\n"
                                   "# EOF\n");
}

}  // namespace

}  // namespace hipq::metrics
