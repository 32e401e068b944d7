// How hipq judges a worker: each limit by itself, precedence, probes, and the explanation.
#include "core/workers/health_text.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

namespace hipq::core {
namespace {

constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t now = 1'000 * second;
constexpr HealthLimits limits;

// A recent heartbeat, and no problem.
WorkerRecord fresh()
{
    WorkerRecord worker;
    worker.was_heard = true;
    worker.last_sign = now;
    return worker;
}

Health judged(const WorkerRecord &worker)
{
    return judge(worker, limits, now);
}

bool is_probed(const WorkerRecord &worker, const HealthLimits &by, std::int64_t at)
{
    return may_be_probed(worker, judge(worker, by, at), by, at);
}

TEST(WorkerHealth, NamesReadBack)
{
    for (const Health health :
         {Health::healthy, Health::unknown, Health::degraded, Health::unhealthy})
        EXPECT_EQ(parse_health(name(health)), health);
    EXPECT_EQ(parse_health("Healthy"), std::nullopt);
    EXPECT_EQ(parse_health(""), std::nullopt);
}

TEST(WorkerHealth, IsUnknownUntilItIsHeardOf)
{
    WorkerRecord worker = fresh();
    worker.was_heard = false;
    EXPECT_EQ(judged(worker), Health::unknown);
    worker.is_bound = true;
    EXPECT_EQ(judged(worker), Health::healthy);
    worker.is_bound = false;
    worker.consecutive_failures = 3;
    EXPECT_EQ(judged(worker), Health::degraded);
    worker.consecutive_failures = 0;
    worker.was_heard = true;
    EXPECT_EQ(judged(worker), Health::healthy);
}

TEST(WorkerHealth, AgeOfTheLastSignOfLife)
{
    WorkerRecord worker = fresh();
    worker.last_sign = now - 30 * second;
    EXPECT_EQ(judged(worker), Health::healthy);
    EXPECT_EQ(stale_from(worker, limits), now + 1);
    worker.last_sign -= 1;
    EXPECT_EQ(judged(worker), Health::unhealthy);
    EXPECT_EQ(stale_from(worker, limits), now);
    worker.was_heard = false;
    EXPECT_EQ(judged(worker), Health::unhealthy);
    worker.is_bound = true;
    EXPECT_EQ(judged(worker), Health::healthy) << "its session is there";
    EXPECT_EQ(stale_from(worker, limits), std::numeric_limits<std::int64_t>::max());
    worker.is_gone = true;
    EXPECT_EQ(judged(worker), Health::unhealthy) << "it has ended";
}

TEST(WorkerHealth, DepthCountsByWhatItMayHold)
{
    WorkerRecord worker = fresh();
    worker.most_held = 5;
    worker.depth = 49;
    EXPECT_EQ(judged(worker), Health::healthy);
    worker.depth = 50;
    EXPECT_EQ(judged(worker), Health::degraded);
    worker.depth = 100;
    EXPECT_EQ(judged(worker), Health::unhealthy);
    worker.most_held = 3'000;
    EXPECT_EQ(judged(worker), Health::healthy);
    worker.depth = 1'500;
    EXPECT_EQ(judged(worker), Health::degraded);
    worker.depth = 3'000;
    EXPECT_EQ(judged(worker), Health::unhealthy);
    worker.most_held = 101;
    worker.depth = 50;
    EXPECT_EQ(judged(worker), Health::healthy);
    worker.depth = 51;
    EXPECT_EQ(judged(worker), Health::degraded);
}

// A bound worker that was given a job, which it could run, at the time `now`.
WorkerRecord asked()
{
    WorkerRecord worker;
    worker.is_bound = true;
    worker.last_sign = now - 3'600 * second;
    worker.depth = 1;
    keep_asked(worker, true, limits, now);
    return worker;
}

TEST(WorkerHealth, ABoundOneThatDoesNotAnswerIsStale)
{
    const WorkerRecord worker = asked();
    EXPECT_EQ(judge(worker, limits, now + 30 * second), Health::healthy);
    EXPECT_EQ(stale_from(worker, limits), now + 30 * second + 1);
    EXPECT_EQ(judge(worker, limits, now + 30 * second + 1), Health::unhealthy);
    EXPECT_FALSE(is_probed(worker, limits, now + 3'600 * second))
        << "a job would wait for it again";
}

TEST(WorkerHealth, ABoundOneOwesNoAnswerWithoutAPlaceToRunTheJob)
{
    WorkerRecord worker = asked();
    keep_asked(worker, false, limits, now + second);
    EXPECT_EQ(stale_from(worker, limits), std::numeric_limits<std::int64_t>::max());
    keep_asked(worker, true, limits, now + 100 * second);
    EXPECT_EQ(stale_from(worker, limits), now + 130 * second + 1) << "a place has come free";
}

TEST(WorkerHealth, ASignOfLifeIsAnAnswer)
{
    WorkerRecord worker = asked();
    note_sign_of_life(worker, now + 20 * second);
    keep_asked(worker, true, limits, now + 20 * second);
    EXPECT_EQ(stale_from(worker, limits), now + 50 * second + 1) << "it still has the job";
    worker.depth = 0;
    keep_asked(worker, true, limits, now + 21 * second);
    EXPECT_EQ(stale_from(worker, limits), std::numeric_limits<std::int64_t>::max());
}

TEST(WorkerHealth, OneThatDidNotAnswerStaysStaleUntilItDoes)
{
    WorkerRecord worker = asked();
    worker.depth = 0;  // another worker has it
    keep_asked(worker, true, limits, now + 60 * second);
    EXPECT_TRUE(is_stale(worker, limits, now + 60 * second));
    note_sign_of_life(worker, now + 90 * second);
    keep_asked(worker, true, limits, now + 90 * second);
    EXPECT_EQ(judge(worker, limits, now + 90 * second), Health::healthy);
}

TEST(WorkerHealth, AClockThatWasSetBackMakesNobodyStale)
{
    WorkerRecord worker = fresh();
    worker.last_sign = now + 3'600 * second;
    EXPECT_EQ(judged(worker), Health::healthy);
}

TEST(WorkerHealth, FailuresInARow)
{
    WorkerRecord worker = fresh();
    for (const auto &[failures, expected] : {std::pair{2, Health::healthy},
                                             {3, Health::degraded},
                                             {9, Health::degraded},
                                             {10, Health::unhealthy}}) {
        worker.consecutive_failures = failures;
        EXPECT_EQ(judged(worker), expected) << failures;
    }
}

TEST(WorkerHealth, QueueDepth)
{
    WorkerRecord worker = fresh();
    for (const auto &[depth, expected] : {std::pair{49, Health::healthy},
                                          {50, Health::degraded},
                                          {99, Health::degraded},
                                          {100, Health::unhealthy}}) {
        worker.depth = depth;
        EXPECT_EQ(judged(worker), expected) << depth;
    }
}

TEST(WorkerHealth, ShareOfFailures)
{
    const auto with = [](int failures, int successes) {
        WorkerRecord worker = fresh();
        for (int i = 0; i < failures; ++i)
            note_execution(worker, Execution::failed, second, false);
        for (int i = 0; i < successes; ++i)
            note_execution(worker, Execution::succeeded, second, false);
        return judged(worker);
    };
    EXPECT_EQ(with(2, 8), Health::healthy);
    EXPECT_EQ(with(3, 7), Health::degraded);
    EXPECT_EQ(with(6, 4), Health::degraded);
    EXPECT_EQ(with(7, 3), Health::unhealthy);
    EXPECT_EQ(with(8, 1), Health::healthy) << "too few to tell, and the last one succeeded";
    EXPECT_EQ(with(100, 64), Health::healthy) << "the last 64 count";
}

TEST(WorkerHealth, ASuccessEndsARowOfFailures)
{
    WorkerRecord worker = fresh();
    note_expiry(worker);
    note_execution(worker, Execution::failed, second, false);
    EXPECT_EQ(worker.consecutive_failures, 2);
    EXPECT_EQ(worker.executions, 1) << "what was not taken up was not executed";
    note_execution(worker, Execution::succeeded, 3 * second, false);
    EXPECT_EQ(worker.consecutive_failures, 0);
    EXPECT_EQ(worker.failures, 1);
    EXPECT_EQ(worker.run_time, 4 * second);
}

TEST(WorkerHealth, AFailureThatTheJobIsBlamedForSaysNothingOfTheWorker)
{
    WorkerRecord worker = fresh();
    for (int i = 0; i < 20; ++i)
        note_execution(worker, Execution::blamed_on_job, second, false);
    EXPECT_EQ(judged(worker), Health::healthy);
    EXPECT_EQ(worker.executions, 20);
    EXPECT_EQ(worker.failures, 0);
    worker.consecutive_failures = 9;
    note_execution(worker, Execution::blamed_on_job, second, true);
    EXPECT_EQ(worker.consecutive_failures, 9) << "it ends no row of failures either";
    EXPECT_EQ(summarize(worker, limits, now).failure_rate, std::nullopt);
}

TEST(WorkerHealth, WhatItSaysOfItselfCanOnlyMakeItWorse)
{
    WorkerRecord worker = fresh();
    worker.report.status = Health::degraded;
    EXPECT_EQ(judged(worker), Health::degraded);
    worker.report.status = Health::healthy;
    worker.consecutive_failures = 10;
    EXPECT_EQ(judged(worker), Health::unhealthy);
    worker.consecutive_failures = 0;
    worker.report.counts.consecutive_failures = 3;
    EXPECT_EQ(judged(worker), Health::degraded);
    worker.report.queue_depth = 100;
    EXPECT_EQ(judged(worker), Health::unhealthy);
    worker.report = {};
    worker.report.counts = {10, 7, 5, 0};
    EXPECT_EQ(judged(worker), Health::unhealthy);
}

TEST(WorkerHealth, SwitchedOffItIsUnknown)
{
    HealthLimits off = limits;
    off.enabled = false;
    WorkerRecord worker = fresh();
    worker.is_gone = true;
    EXPECT_EQ(judge(worker, off, now), Health::unknown);
    worker.probe_clock = 0;
    EXPECT_FALSE(is_probed(worker, off, now));
}

TEST(WorkerHealth, LimitsAreThoseGiven)
{
    HealthLimits strict = limits;
    strict.degraded_failures = 1;
    strict.unhealthy_failures = 2;
    strict.degraded_silence = second;
    strict.heartbeat_timeout = 2 * second;
    strict.degraded_depth = 3;
    strict.unhealthy_depth = 4;
    strict.degraded_failure_rate = 10;
    strict.unhealthy_failure_rate = 20;
    const auto with = [&](const auto &change) {
        WorkerRecord worker = fresh();
        change(worker);
        return judge(worker, strict, now);
    };
    const auto failures = [](int count) {
        return [count](WorkerRecord &worker) { worker.consecutive_failures = count; };
    };
    const auto depth = [](int count) {
        return [count](WorkerRecord &worker) { worker.depth = count; };
    };
    const auto rate = [](int percent) {
        return [percent](WorkerRecord &worker) { worker.report.counts = {100, percent, 0, 0}; };
    };
    const auto silence = [](std::int64_t time) {
        return [time](WorkerRecord &worker) { worker.last_sign = now - time; };
    };
    EXPECT_EQ(with(failures(0)), Health::healthy);
    EXPECT_EQ(with(failures(1)), Health::degraded);
    EXPECT_EQ(with(failures(2)), Health::unhealthy);
    EXPECT_EQ(with(depth(2)), Health::healthy);
    EXPECT_EQ(with(depth(3)), Health::degraded);
    EXPECT_EQ(with(depth(4)), Health::unhealthy);
    EXPECT_EQ(with(rate(9)), Health::healthy);
    EXPECT_EQ(with(rate(10)), Health::degraded);
    EXPECT_EQ(with(rate(20)), Health::unhealthy);
    EXPECT_EQ(with(silence(second)), Health::healthy);
    EXPECT_EQ(with(silence(second + 1)), Health::degraded);
    EXPECT_EQ(with(silence(2 * second)), Health::degraded);
    EXPECT_EQ(with(silence(2 * second + 1)), Health::unhealthy);
}

TEST(WorkerHealth, ABoundOneIsDegradedByItsSilenceOnlyWhenItOwesAnAnswer)
{
    HealthLimits strict = limits;
    strict.degraded_silence = 10 * second;
    WorkerRecord worker = asked();
    EXPECT_EQ(judge(worker, strict, now + 10 * second), Health::healthy);
    EXPECT_EQ(judge(worker, strict, now + 10 * second + 1), Health::degraded);
    worker.asked.reset();
    EXPECT_EQ(judge(worker, strict, now + 3'600 * second), Health::healthy);
}

// Bound to a session: such a worker never falls silent.
WorkerRecord bound_and_broken()
{
    WorkerRecord worker = fresh();
    worker.is_bound = true;
    worker.consecutive_failures = 10;
    return worker;
}

TEST(WorkerHealth, TheFirstProbeIsAnIntervalAfterItWasFoundUnhealthy)
{
    WorkerRecord worker = bound_and_broken();
    EXPECT_FALSE(is_probed(worker, limits, now)) << "nobody has found it so yet";
    keep_probe_clock(worker, limits, now);
    EXPECT_FALSE(is_probed(worker, limits, now));
    keep_probe_clock(worker, limits, now + 30 * second);
    EXPECT_FALSE(is_probed(worker, limits, now + 60 * second - 1));
    EXPECT_TRUE(is_probed(worker, limits, now + 60 * second));
}

TEST(WorkerHealth, AProbeOnceAnInterval)
{
    WorkerRecord worker = bound_and_broken();
    keep_probe_clock(worker, limits, now - 60 * second);
    EXPECT_TRUE(is_probed(worker, limits, now));
    note_probe(worker, now);
    keep_probe_clock(worker, limits, now);
    EXPECT_FALSE(is_probed(worker, limits, now + 60 * second - 1));
    EXPECT_TRUE(is_probed(worker, limits, now + 60 * second));
    note_probe(worker, now + 60 * second);
    note_no_probe(worker, limits, now + 61 * second);
    EXPECT_TRUE(is_probed(worker, limits, now + 61 * second)) << "it was not given to it after all";
    worker.is_bound = false;
    EXPECT_FALSE(is_probed(worker, limits, now + 61 * second)) << "nobody is there";
}

TEST(WorkerHealth, OneThatCallsItselfUnhealthyIsNotProbed)
{
    WorkerRecord worker = bound_and_broken();
    keep_probe_clock(worker, limits, now - 60 * second);
    worker.report.status = Health::unhealthy;
    EXPECT_FALSE(is_probed(worker, limits, now + 3'600 * second));
    worker.report.status = Health::degraded;
    EXPECT_TRUE(is_probed(worker, limits, now)) << "its own numbers count, and may be outdated";
}

TEST(WorkerHealth, TheClockOfProbesBeginsAnewWithEachTimeThatItIsUnhealthy)
{
    WorkerRecord worker = bound_and_broken();
    keep_probe_clock(worker, limits, now - 60 * second);
    worker.consecutive_failures = 0;
    EXPECT_FALSE(is_probed(worker, limits, now)) << "it is healthy";
    keep_probe_clock(worker, limits, now);
    worker.consecutive_failures = 10;
    keep_probe_clock(worker, limits, now);
    EXPECT_FALSE(is_probed(worker, limits, now + 60 * second - 1));
    keep_probe_clock(worker, limits, now - 3'600 * second);  // the clock was set back
    EXPECT_TRUE(is_probed(worker, limits, now - 3'540 * second));
}

TEST(WorkerHealth, AProbeThatSucceedsWipesTheSlate)
{
    WorkerRecord worker = fresh();
    for (int i = 0; i < 20; ++i)
        note_execution(worker, Execution::failed, second, false);
    EXPECT_EQ(judged(worker), Health::unhealthy);
    WorkerRecord other = worker;
    note_execution(other, Execution::succeeded, second, false);
    EXPECT_EQ(judged(other), Health::unhealthy) << "an ordinary success does not";
    note_execution(worker, Execution::failed, second, true);
    EXPECT_EQ(judged(worker), Health::unhealthy);
    note_execution(worker, Execution::succeeded, second, true);
    EXPECT_EQ(judged(worker), Health::healthy);
    EXPECT_EQ(worker.failures, 21) << "totals stay";
}

TEST(WorkerHealth, SummaryMergesBothSides)
{
    WorkerRecord worker = fresh();
    note_execution(worker, Execution::succeeded, 2 * second, false);
    note_execution(worker, Execution::failed, 4 * second, false);
    worker.depth = 2;
    HealthSummary summary = summarize(worker, limits, now);
    EXPECT_EQ(summary.counts.executions, 2);
    EXPECT_EQ(summary.counts.failures, 1);
    EXPECT_DOUBLE_EQ(summary.counts.average_ms, 3000);
    EXPECT_EQ(summary.counts.consecutive_failures, 1);
    EXPECT_EQ(summary.queue_depth, 2);
    worker.report.counts = {5, 1, 70.5, 0};
    worker.report.queue_depth = 7;
    summary = summarize(worker, limits, now);
    EXPECT_EQ(summary.counts.executions, 5);
    EXPECT_DOUBLE_EQ(summary.counts.average_ms, 70.5);
    EXPECT_EQ(summary.counts.consecutive_failures, 1);
    EXPECT_EQ(summary.queue_depth, 7);
    worker.depth = 8;
    EXPECT_EQ(queue_depth_of(worker), 8) << "the larger of the two";
    EXPECT_EQ(summary.status, Health::healthy);
}

TEST(WorkerHealth, SummaryHasTheShareOfFailuresThatIsJudged)
{
    WorkerRecord worker = fresh();
    const auto share = [&] { return summarize(worker, limits, now).failure_rate; };
    for (int i = 0; i < 9; ++i)
        note_execution(worker, Execution::failed, second, false);
    EXPECT_EQ(share(), std::nullopt) << "too few to tell";
    note_execution(worker, Execution::succeeded, second, false);
    EXPECT_EQ(share(), 90);
    for (int i = 0; i < 64; ++i)
        note_execution(worker, Execution::succeeded, second, false);
    EXPECT_EQ(share(), 0) << "the latest count";
    note_expiry(worker);
    EXPECT_EQ(share(), 100.0 / 64) << "what was not taken up failed";
    worker.report.counts = {10, 4, 5, 0};
    EXPECT_EQ(share(), 40) << "what it says of itself is worse";
    worker.report.counts = {9, 9, 5, 0};
    EXPECT_EQ(share(), 100.0 / 64);
}

// The reason why a worker is unhealthy.
std::string cause_of(const WorkerRecord &worker)
{
    EXPECT_EQ(judge(worker, limits, now), Health::unhealthy);
    return cause_text(worker, limits, now);
}

TEST(HealthText, NamesTheMeasureAndItsSetting)
{
    WorkerRecord worker = fresh();
    worker.consecutive_failures = 12;
    EXPECT_EQ(cause_of(worker), "has failed 12 times in a row (hipq.unhealthy_failures is 10)");
    worker = fresh();
    worker.report.counts = {100, 83, 0, 0};
    EXPECT_EQ(cause_of(worker),
              "has failed in 83 % of its last executions (hipq.unhealthy_failure_rate is 70)");
    worker = fresh();
    worker.depth = 110;
    EXPECT_EQ(cause_of(worker), "has not accepted 110 jobs (hipq.unhealthy_depth is 100)");
    worker.most_held = 110;
    EXPECT_EQ(cause_of(worker), "has not accepted 110 jobs (all that it may hold)");
}

TEST(HealthText, NamesSilence)
{
    WorkerRecord worker = fresh();
    worker.last_sign = now - 45 * second;
    EXPECT_EQ(cause_of(worker), "was not heard of for 45 s (hipq.heartbeat_timeout is 30 s)");
    worker.is_bound = true;
    worker.asked = now - 31 * second;
    EXPECT_EQ(cause_of(worker), "has not answered for 31 s (hipq.heartbeat_timeout is 30 s)");
    worker.is_gone = true;
    EXPECT_EQ(cause_of(worker), "has ended");
}

TEST(HealthText, WhatItSaysOfItselfComesBeforeWhatIsCounted)
{
    WorkerRecord worker = fresh();
    worker.report.status = Health::unhealthy;
    worker.consecutive_failures = 12;
    EXPECT_EQ(cause_of(worker), "calls itself unhealthy");
}

}  // namespace
}  // namespace hipq::core
