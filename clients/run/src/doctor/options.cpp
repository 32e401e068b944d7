// Reads the command line of "hipq-run doctor".
#include "doctor/options.hpp"

#include "options/options.hpp"

namespace hipq::run::doctor {

namespace {

Format read_format(const std::string &value)
{
    if (value != "text" && value != "json")
        throw UsageError("needs \"text\" or \"json\"");
    return value == "json" ? Format::json : Format::text;
}

std::optional<Severity> read_severity(const std::string &value)
{
    if (value == "never")
        return std::nullopt;
    if (value != "error" && value != "warning")
        throw UsageError(R"(needs "error", "warning" or "never")");
    return value == "error" ? Severity::error : Severity::warning;
}

const std::vector<program::Option<Options>> &option_table()
{
    using O = Options;
    using S = std::string;
    static const std::vector<program::Option<Options>> table{
        {"dbname", 'd', "CONNINFO",
         "where to connect: a URI, or service=...; else PGHOST and so on",
         [](O &o, const S &value) { o.conninfo = value; }},
        {"format", 0, "text|json", "the form of what it finds (text)",
         [](O &o, const S &value) { o.format = read_format(value); }},
        {"fail-on", 0, "SEVERITY", "the least for exit code 1: error, warning or never (error)",
         [](O &o, const S &value) { o.fail_on = read_severity(value); }},
        {"help", 'h', "", "prints this", [](O &o, const S &) { o.help = true; }},
        {"version", 'V', "", "prints the version", [](O &o, const S &) { o.version = true; }},
    };
    return table;
}

}  // namespace

Options parse_command_line(const std::vector<std::string> &arguments)
{
    const auto line = program::divide(arguments, option_table(), program::OptionsEnd::at_dashes);
    program::refuse_words(line);
    Options options;
    line.set(options);
    return options;
}

std::string help_text()
{
    const std::string text =
        "hipq-run doctor tells what is wrong in how hipq is set up in a database.\n\n"
        "  hipq-run doctor --dbname service=jobs --fail-on warning\n\n"
        "Exit code 0: nothing of that severity; 1: there is; 2: it could not ask.\n\n"
        "Options:\n";
    return text + program::help_lines(option_table()) +
           "\nThe manual is docs/hipq-run.md, and man hipq-run.\n";
}

}  // namespace hipq::run::doctor
