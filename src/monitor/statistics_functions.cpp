// The functions behind the views of statistics, the alerts on rates, and hipq.stat_reset.
#include "catalog/cache.hpp"
#include "catalog/rights.hpp"
#include "catalog/visible_queues.hpp"
#include "core/statistics/rate_alerts.hpp"
#include "monitor/alerts_on_rates.hpp"
#include "pg/arguments.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "settings.hpp"
#include "shared/statistics/counters.hpp"

namespace hipq::monitor {

namespace {

using core::Ending;
using core::Totals;
using statistics::CountedType;

std::int64_t present_minute()
{
    return core::minute_of(pg::now().value);
}

// Calls `show` for the statistics of the queues of this database that the caller may see.
template <class Show>
void for_each_here(const Show &show)
{
    catalog::VisibleQueues visible_queues;
    statistics::for_each_counted([&](const CountedType &type, const core::Statistics &statistics) {
        if (type.database == MyDatabaseId && visible_queues.visible(type.queue_id) != nullptr)
            show(type, statistics);
    });
}

std::int64_t number(std::uint64_t value)
{
    return static_cast<std::int64_t>(value);
}

// ---- rates and latencies ----

// A row of hipq._statistics(): for an hour or for all time, of a job type or of a whole queue.
struct Summary {
    pg::Time since = pg::infinity;
    Totals totals{};
};

void add(Summary &sum, pg::Time since, const Totals &totals)
{
    sum.since = std::min(sum.since, since);
    core::add(sum.totals, totals);
}

std::optional<double> seconds(const core::Histogram &histogram, double share)
{
    const auto microseconds = core::percentile(histogram, share);
    return microseconds.has_value() ? std::optional(*microseconds / core::microseconds_per_second)
                                    : std::nullopt;
}

void add_summary(pg::ResultSet &result, int queue_id, const std::optional<std::string> &job_type,
                 const char *period, const Summary &summary)
{
    const Totals &totals = summary.totals;
    const auto of = [&](Ending ending) { return number(totals.of(ending)); };
    result.add(std::int32_t{queue_id}, job_type, period, summary.since, of(Ending::succeeded),
               of(Ending::failed), of(Ending::cancelled), of(Ending::expired), of(Ending::retried),
               of(Ending::put_back), number(totals.recovered), number(totals.lost),
               number(totals.retries_used), number(totals.dead_letters), core::retry_rate(totals),
               core::retry_success_rate(totals), core::failure_rate(totals),
               seconds(totals.waits, 0.5), seconds(totals.waits, 0.9), seconds(totals.waits, 0.99),
               seconds(totals.runs, 0.5), seconds(totals.runs, 0.9), seconds(totals.runs, 0.99));
}

// The last hour begins with a minute. Nothing is older than the statistics.
pg::Time begin_of_hour(std::int64_t present, pg::Time since)
{
    return std::max(since, pg::Time{(present - core::hour + 1) * core::microseconds_per_minute});
}

// Calls `show` for each job type and each queue (job type: nothing), for the last hour and for all
// time.
template <class Show>
void for_each_summary(const Show &show)
{
    const std::int64_t present = present_minute();
    std::map<int, Summary> hours;
    std::map<int, Summary> totals;
    for_each_here([&](const CountedType &type, const core::Statistics &statistics) {
        const pg::Time since{statistics.since};
        const Summary hour{begin_of_hour(present, since),
                           core::sum_of_minutes(statistics, present, core::hour)};
        const Summary total{since, statistics.totals};
        add(hours[type.queue_id], hour.since, hour.totals);
        add(totals[type.queue_id], total.since, total.totals);
        show(type.queue_id, std::optional(std::string(type.job_type)), "hour", hour);
        show(type.queue_id, std::optional(std::string(type.job_type)), "total", total);
    });
    for (const auto &[queue_id, hour] : hours)
        show(queue_id, std::optional<std::string>(), "hour", hour);
    for (const auto &[queue_id, total] : totals)
        show(queue_id, std::optional<std::string>(), "total", total);
}

void list_statistics(FunctionCallInfo fcinfo)
{
    pg::ResultSet result(fcinfo);
    for_each_summary(
        [&](int queue_id, const std::optional<std::string> &job_type, const char *period,
            const Summary &summary) { add_summary(result, queue_id, job_type, period, summary); });
}

// ---- histograms, of all time ----

double in_seconds(double microseconds)
{
    return microseconds / core::microseconds_per_second;
}

void add_histogram(pg::ResultSet &result, const CountedType &type, const char *measure,
                   const core::Histogram &histogram, std::uint64_t sum, pg::Time since)
{
    const auto add_bound = [&](double bound, std::uint64_t jobs) {
        result.add(std::int32_t{type.queue_id}, std::string(type.job_type), measure, since, bound,
                   number(jobs), in_seconds(static_cast<double>(sum)));
    };
    for (const core::Shown &each : core::shown(histogram))
        add_bound(in_seconds(static_cast<double>(each.bound)), each.below);
    add_bound(std::numeric_limits<double>::infinity(), core::number_in(histogram));
}

void list_histograms(FunctionCallInfo fcinfo)
{
    pg::ResultSet result(fcinfo);
    for_each_here([&](const CountedType &type, const core::Statistics &statistics) {
        const Totals &totals = statistics.totals;
        const pg::Time since{statistics.since};
        add_histogram(result, type, "wait", totals.waits, totals.wait_sum, since);
        add_histogram(result, type, "run", totals.runs, totals.run_sum, since);
    });
}

// ---- retries per job ----

void list_retry_distribution(FunctionCallInfo fcinfo)
{
    pg::ResultSet result(fcinfo);
    for_each_summary([&](int queue_id, const std::optional<std::string> &job_type,
                         const char *period, const Summary &summary) {
        for (std::size_t i = 0; i < core::retry_classes.size(); ++i)
            result.add(std::int32_t{queue_id}, job_type, period, core::retry_classes[i].name,
                       core::retry_classes[i].least, number(summary.totals.finished_by_retries[i]));
    });
}

// ---- reasons ----

void add_reasons(pg::ResultSet &result, const CountedType &type, const char *period,
                 const Totals &totals)
{
    for (std::size_t i = 0; i < core::reason_count; ++i)
        if (totals.failures[i] > 0 || totals.retries[i] > 0 || totals.recoveries[i] > 0)
            result.add(std::int32_t{type.queue_id}, std::string(type.job_type), period,
                       core::name(static_cast<core::Reason>(i)), number(totals.failures[i]),
                       number(totals.retries[i]), number(totals.recoveries[i]));
}

void list_failures(FunctionCallInfo fcinfo)
{
    pg::ResultSet result(fcinfo);
    const std::int64_t present = present_minute();
    for_each_here([&](const CountedType &type, const core::Statistics &statistics) {
        add_reasons(result, type, "hour", core::sum_of_minutes(statistics, present, core::hour));
        add_reasons(result, type, "total", statistics.totals);
    });
}

// ---- minutes ----

void list_throughput(FunctionCallInfo fcinfo)
{
    pg::ResultSet result(fcinfo);
    const std::int64_t present = present_minute();
    std::map<std::pair<int, std::int64_t>, Totals> minutes;
    for_each_here([&](const CountedType &type, const core::Statistics &statistics) {
        for (std::int64_t minute = present - core::hour + 1; minute <= present; ++minute)
            core::add(minutes[{type.queue_id, minute}],
                      core::sum_of_minutes(statistics, minute, 1));
    });
    for (const auto &[place, totals] : minutes)
        result.add(std::int32_t{place.first},
                   pg::Time{place.second * core::microseconds_per_minute},
                   number(totals.of(Ending::succeeded)), number(totals.of(Ending::failed)),
                   number(totals.of(Ending::cancelled)), number(totals.of(Ending::expired)),
                   number(totals.of(Ending::retried)), number(totals.dead_letters));
}

// ---- recent speed ----

// Counts the last whole minute and the current one, by queue. View hipq.throughput, with sixty rows
// for each queue, would cost too much every second.
void list_finished_lately(FunctionCallInfo fcinfo)
{
    pg::ResultSet result(fcinfo);
    const std::int64_t present = present_minute();
    const pg::Time begin{(present - 1) * core::microseconds_per_minute};
    std::map<int, std::int64_t> finished;
    for_each_here([&](const CountedType &type, const core::Statistics &statistics) {
        const Totals lately = core::sum_of_minutes(statistics, present, 2);
        finished[type.queue_id] +=
            number(lately.of(Ending::succeeded)) + number(lately.of(Ending::failed));
    });
    for (const auto &[queue_id, jobs] : finished)
        result.add(std::int32_t{queue_id}, begin, jobs);
}

// ---- alerts ----

core::RateLimits limits()
{
    return {settings::alert_retry_rate, settings::alert_retry_success, settings::alert_failures,
            settings::alert_dead_letters, settings::alert_least_jobs};
}

const char *name_of(core::RateAlert alert)
{
    switch (alert) {
    case core::RateAlert::retry_rate:
        return "retry rate";
    case core::RateAlert::retry_success:
        return "retry success";
    case core::RateAlert::failures:
        return "failures";
    case core::RateAlert::dead_letters:
        return "dead letters";
    }
    return "unknown";
}

const char *meaning_of(core::RateAlert alert)
{
    switch (alert) {
    case core::RateAlert::retry_rate:
        return "executions were retries";
    case core::RateAlert::retry_success:
        return "retries succeeded";
    case core::RateAlert::failures:
        return "jobs failed for good";
    case core::RateAlert::dead_letters:
        return "dead letters in a minute";
    }
    return "";
}

const char *hint_for(core::RateAlert alert)
{
    switch (alert) {
    case core::RateAlert::retry_rate:
    case core::RateAlert::failures:
        return "View hipq.failure_statistics says for which reasons, hipq.attempts_detail with "
               "which errors.";
    case core::RateAlert::retry_success:
        return "View hipq.failure_statistics says which reasons are retried in vain: name them in "
               "do_not_retry_on.";
    case core::RateAlert::dead_letters:
        return "View hipq.dead_letters_detail has the jobs with their errors.";
    }
    return "";
}

std::string detail_of(const core::RateFinding &finding, const std::string &where)
{
    const std::string meaning = meaning_of(finding.alert);
    const std::string times = where + ": " + std::to_string(finding.times);
    const std::string of = std::to_string(finding.of);
    if (finding.alert == core::RateAlert::dead_letters)
        return times + " " + meaning + ", limit " + std::to_string(std::lround(finding.limit)) +
               ".";
    const std::string counted = finding.alert == core::RateAlert::retry_rate
                                    ? times + " " + meaning + ", " + of + " were not,"
                                    : times + " of " + of + " " + meaning;
    const std::string percent =
        finding.of == 0 ? "" : ": " + core::percent_text(finding.percent(), finding.limit);
    return counted + " within " + std::to_string(finding.minutes) + " min" + percent + ", limit " +
           core::percent_text(finding.limit, finding.limit) + ".";
}

// Returns nothing if it was dropped.
std::optional<std::string> database_name(Oid database)
{
    const char *name = pg::call([&] { return ::get_database_name(database); });
    return name == nullptr ? std::nullopt : std::optional<std::string>(name);
}

// A dropped queue is counted until its tables can be dropped. Queues of other databases cannot be
// seen from here.
bool is_dropped(const catalog::Catalogue &catalogue, const CountedType &type)
{
    const catalog::Queue *queue = catalogue.find(type.queue_id);
    return type.database == MyDatabaseId && (queue == nullptr || queue->is_dropped);
}

struct CountedQueue {
    std::string name;
    core::RateCounts counts{};
};

// ---- stat_reset ----

void reset(const pg::Arguments &arguments)
{
    const auto queue_name = arguments.maybe_text("queue");
    if (queue_name.has_value()) {
        const auto catalogue = catalog::catalogue();
        const catalog::Queue &queue = catalog::require_known_queue(*catalogue, *queue_name);
        catalog::require(queue, catalog::Privilege::control);
        statistics::reset_statistics(MyDatabaseId, queue.id);
        return;
    }
    if (!pg::call([] { return ::superuser(); }) && catalog::caller() != pg::extension_owner())
        HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                   errmsg("only a superuser or the owner of the extension may reset the statistics "
                          "of all queues"),
                   errhint("Name a queue that you may control."));
    statistics::reset_statistics(MyDatabaseId, 0);
}

}  // namespace

void list_rate_alerts(pg::ResultSet &result)
{
    const std::int64_t present = present_minute();
    const auto catalogue = catalog::catalogue();
    std::map<std::pair<Oid, int>, CountedQueue> queues;
    statistics::for_each_counted([&](const CountedType &type, const core::Statistics &statistics) {
        if (is_dropped(*catalogue, type))
            return;
        CountedQueue &queue = queues[{type.database, type.queue_id}];
        queue.name = type.queue;
        core::add_rate_counts(queue.counts, statistics, present);
    });
    for (const auto &[key, queue] : queues)
        for (const core::RateFinding &finding : core::judge_rates(queue.counts, limits())) {
            const auto database = database_name(key.first);
            if (!database.has_value())
                continue;
            const std::string where =
                "Queue \"" + queue.name + "\" of database \"" + *database + "\"";
            result.add(name_of(finding.alert), number(finding.times),
                       pg::Time{(present - finding.minutes + 1) * core::microseconds_per_minute},
                       pg::now(), detail_of(finding, where), hint_for(finding.alert));
        }
    if (const std::int64_t uncounted = statistics::uncounted_events(); uncounted > 0)
        result.add("statistics", uncounted, std::optional<pg::Time>(), pg::now(),
                   "More job types than shared memory has room for: nothing is counted of some.",
                   "Raise hipq.max_statistics; hipq.stat_reset() begins anew.");
}

}  // namespace hipq::monitor

HIPQ_FUNCTION(hipq__statistics)
{
    hipq::monitor::list_statistics(fcinfo);
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__histograms)
{
    hipq::monitor::list_histograms(fcinfo);
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__retry_distribution)
{
    hipq::monitor::list_retry_distribution(fcinfo);
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__failure_statistics)
{
    hipq::monitor::list_failures(fcinfo);
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__finished_lately)
{
    hipq::monitor::list_finished_lately(fcinfo);
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq__throughput)
{
    hipq::monitor::list_throughput(fcinfo);
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq_stat_reset)
{
    hipq::monitor::reset(hipq::pg::Arguments(fcinfo));
    return hipq::pg::return_void();
}
