// hipq.doctor(): runs all checks, each by itself, and returns their findings.
#include <algorithm>

#include "catalog/visible_queues.hpp"
#include "monitor/doctor/findings.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "pg/subtransaction.hpp"

namespace hipq::monitor {

namespace {

constexpr int longest_lock_wait_of_doctor = 500;  // ms

Severity parse_severity(std::string_view text)
{
    if (text == name(Severity::error))
        return Severity::error;
    return text == name(Severity::warning) ? Severity::warning : Severity::information;
}

void run(const SqlCheck &check, Diagnoses &found)
{
    for (const pg::Row row : pg::run_once(check.sql)) {
        Diagnosis finding{parse_severity(row.text(1)),
                          row.text(2),
                          row.text(3),
                          row.text(4),
                          row.text(5),
                          row.maybe_text(6)};
        if (!row.null(0))
            finding.queue_id = row.integer32(0);
        found.push_back(std::move(finding));
    }
}

// Returns the finding for a check that failed.
Diagnosis failure_of(std::string_view check, const pg::Error &error)
{
    return {Severity::warning, "hipq.doctor()", "check failed",
            "It could not look at " + std::string(check) + ": " + error.message() + " (SQLSTATE " +
                error.sqlstate() + ").",
            "Mend that, and run hipq.doctor() again."};
}

// Runs the checks for one caller and keeps the findings that the caller may see.
class Examination {
public:
    template <class Look>
    void make(std::string_view name, Audience audience, const Look &look)
    {
        Diagnoses found;
        const auto error = pg::in_subtransaction(pg::Ending::rolled_back,
                                                 [&] { pg::as_hipq([&] { look(found); }); });
        if (error.has_value() && (audience == Audience::everybody || is_monitor_))
            seen_.push_back(failure_of(name, *error));
        else if (!error.has_value())
            keep(std::move(found), audience);
    }

    // The worst first.
    Diagnoses take()
    {
        std::ranges::stable_sort(seen_, {}, &Diagnosis::severity);
        return std::move(seen_);
    }

private:
    void keep(Diagnoses found, Audience audience)
    {
        for (Diagnosis &finding : found)
            if (may_see(finding, audience))
                seen_.push_back(std::move(finding));
    }

    bool may_see(const Diagnosis &finding, Audience audience)
    {
        if (is_monitor_ || (!finding.queue_id.has_value() && audience == Audience::everybody))
            return true;
        return finding.queue_id.has_value() && sees_queue(*finding.queue_id);
    }

    // Members of pg_monitor need no catalogue, which may be the broken part.
    bool sees_queue(int queue_id)
    {
        if (!visible_queues_.has_value())
            visible_queues_.emplace();
        return visible_queues_->visible(queue_id) != nullptr;
    }

    bool is_monitor_ = catalog::is_monitor();
    std::optional<catalog::VisibleQueues> visible_queues_{};
    Diagnoses seen_{};
};

void make_all(Examination &examination, std::span<const Look> looks)
{
    for (const Look &each : looks)
        examination.make(each.name, each.audience, each.look);
}

void make_all(Examination &examination, std::span<const SqlCheck> checks)
{
    for (const SqlCheck &check : checks)
        examination.make(check.name, Audience::monitors,
                         [&](Diagnoses &found) { run(check, found); });
}

void list_findings(FunctionCallInfo fcinfo)
{
    pg::ResultSet result(fcinfo);
    const pg::LockTimeoutScope lock_timeout(longest_lock_wait_of_doctor);
    Examination examination;
    for (const auto looks :
         {server_looks(), handler_looks(), schedule_looks(), dependency_looks(), shard_looks()})
        make_all(examination, looks);
    for (const auto checks : {setting_checks(), queue_checks(), job_type_checks(), table_checks(),
                              schedule_checks(), snapshot_checks(), shard_checks()})
        make_all(examination, checks);
    for (const Diagnosis &each : examination.take())
        result.add(std::string(name(each.severity)), each.subject, each.finding, each.detail,
                   each.hint, each.statement);
}

}  // namespace

std::string_view name(Severity severity)
{
    switch (severity) {
    case Severity::error:
        return "error";
    case Severity::warning:
        return "warning";
    case Severity::information:
        break;
    }
    return "information";
}

}  // namespace hipq::monitor

HIPQ_FUNCTION(hipq_doctor)
{
    hipq::monitor::list_findings(fcinfo);
    return hipq::pg::return_void();
}
