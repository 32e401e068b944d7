// The counters of hipq-run, in Prometheus' format.
#include "system/counts.hpp"

#include <algorithm>
#include <sstream>

namespace hipq::run {

void Counts::ended(const std::string &how, double seconds)
{
    ++ended_[how];
    const auto bucket = std::lower_bound(bounds.begin(), bounds.end(), seconds) - bounds.begin();
    ++seconds_[static_cast<std::size_t>(bucket)];
    all_seconds_ += seconds;
}

std::string Counts::text(const Now &now) const
{
    std::ostringstream text;
    const auto head = [&](const char *name, const char *type, const char *help) {
        text << "# HELP " << name << ' ' << help << "\n# TYPE " << name << ' ' << type << '\n';
    };
    head("hipq_run_jobs_total", "counter", "Attempts that have ended, by how.");
    for (const auto &[how, count] : ended_)
        text << "hipq_run_jobs_total{outcome=\"" << how << "\"} " << count << '\n';
    head("hipq_run_job_seconds", "histogram", "How long attempts took.");
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < bounds.size(); ++i)
        text << "hipq_run_job_seconds_bucket{le=\"" << bounds[i] << "\"} " << (count += seconds_[i])
             << '\n';
    count += seconds_.back();
    text << "hipq_run_job_seconds_bucket{le=\"+Inf\"} " << count << "\nhipq_run_job_seconds_sum "
         << all_seconds_ << "\nhipq_run_job_seconds_count " << count << '\n';
    head("hipq_run_jobs_running", "gauge", "Attempts that run.");
    text << "hipq_run_jobs_running " << now.running << '\n';
    head("hipq_run_answers_waiting", "gauge", "Answers that the server has not confirmed.");
    text << "hipq_run_answers_waiting " << now.answers_waiting << '\n';
    head("hipq_run_connected", "gauge", "Whether it is connected and registered.");
    text << "hipq_run_connected " << (now.is_connected ? 1 : 0) << '\n';
    head("hipq_run_connections_lost_total", "counter", "Connections that were lost, or not made.");
    text << "hipq_run_connections_lost_total " << connections_lost_ << '\n';
    head("hipq_run_spans_exported_total", "counter", "Spans that the collector has taken.");
    text << "hipq_run_spans_exported_total " << now.spans_exported << '\n';
    head("hipq_run_spans_dropped_total", "counter", "Spans that the collector has not got.");
    text << "hipq_run_spans_dropped_total " << now.spans_dropped << '\n';
    return text.str();
}

}  // namespace hipq::run
