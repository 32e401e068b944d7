// Connects, queries, prints, and chooses the exit code.
#include "doctor/doctor.hpp"

#include <cstdio>

#include "doctor/report.hpp"
#include "hipq/client.hpp"

namespace hipq::run::doctor {

namespace {

constexpr const char *ask = "SELECT severity, subject, finding, detail, hint, statement "
                            "FROM hipq.doctor()";

// The argument may be only the name of a database.
std::string complete(const std::string &conninfo)
{
    if (conninfo.empty() || conninfo.find('=') != std::string::npos ||
        conninfo.find("://") != std::string::npos)
        return conninfo;
    std::string quoted;
    for (const char each : conninfo) {
        if (each == '\'' || each == '\\')
            quoted += '\\';
        quoted += each;
    }
    return "dbname='" + quoted + "'";
}

Findings findings_in(const client::Result &result)
{
    Findings findings;
    for (int row = 0; row < result.rows(); ++row)
        findings.push_back({result.text(row, "severity"), result.text(row, "subject"),
                            result.text(row, "finding"), result.text(row, "detail"),
                            result.text(row, "hint"), result.get(row, "statement")});
    return findings;
}

// Explains an error of the query to the user.
std::string advice(const client::Error &error)
{
    if (error.sqlstate() == "3F000")
        return "Extension hipq is not installed in this database: CREATE EXTENSION hipq.";
    if (error.sqlstate() == "42501")
        return "The role needs to be a member of pg_monitor, or to have a right on a queue.";
    return error.hint();
}

int could_not_ask(const client::Error &error)
{
    std::string message = error.what();
    while (message.ends_with('\n'))
        message.pop_back();
    const std::string more = advice(error);
    std::fprintf(stderr, "hipq-run doctor: %s%s%s\n", message.c_str(), more.empty() ? "" : "\n",
                 more.c_str());
    return exit_unasked;
}

int examine(const Options &options)
{
    const client::Connection connection(complete(options.conninfo));
    client::run(connection, {"SET application_name = 'hipq-run doctor'", {}});
    const Findings findings = findings_in(connection.execute(ask));
    const std::string text =
        options.format == Format::json ? as_json(findings) : as_text(findings, PQdb(connection));
    std::fputs(text.c_str(), stdout);
    return options.fail_on && is_any(findings, *options.fail_on) ? exit_findings : exit_healthy;
}

}  // namespace

int run(const std::vector<std::string> &arguments)
{
    const Options options = parse_command_line(arguments);
    if (options.help) {
        std::fputs(help_text().c_str(), stdout);
        return exit_healthy;
    }
    if (options.version) {
        std::puts("hipq-run " HIPQ_VERSION);
        return exit_healthy;
    }
    try {
        return examine(options);
    } catch (const client::Error &error) {
        return could_not_ask(error);
    }
}

}  // namespace hipq::run::doctor
