// What a doctor finds, and the shape of the checks that look for it.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::doctor {

// error: something does not work. warning: it will not, or not as meant. information: worth
// knowing.
enum class Severity : unsigned char { error, warning, information };
std::string_view name(Severity severity);

struct Finding {
    Severity severity;
    std::string subject;  // 'queue "app.mail"'
    std::string finding;  // its short name: the same for all subjects
    std::string detail;
    std::string hint;
    std::optional<std::string> statement{};  // ready to run; nothing: somebody has to choose
    std::optional<int> queue_id{};           // nothing: it is of the database or the server
};
using Findings = std::vector<Finding>;

// Whom findings without a queue are for. Those of a queue are for who may look at that.
enum class Audience : unsigned char { everybody, monitors };

// Its rows are queue_id, severity, subject, finding, detail, hint, statement.
struct SqlCheck {
    std::string_view name;
    const char *sql;
};

// Runs as the extension owner, with the settings of the session.
struct Look {
    std::string_view name;
    Audience audience;
    void (*look)(Findings &found);
};

std::span<const Look> server_looks();
std::span<const Look> handler_looks();
std::span<const Look> schedule_looks();

std::span<const SqlCheck> setting_checks();
std::span<const SqlCheck> queue_checks();
std::span<const SqlCheck> job_type_checks();
std::span<const SqlCheck> table_checks();
std::span<const SqlCheck> schedule_checks();
std::span<const SqlCheck> snapshot_checks();

}  // namespace hipq::doctor
