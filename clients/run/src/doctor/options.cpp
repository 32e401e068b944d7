// Reads the command line of "hipq-run doctor".
#include "doctor/options.hpp"

#include "options/options.hpp"

namespace hipq::run::doctor {

namespace {

Format read_format(const std::string &value)
{
    if (value != "text" && value != "json")
        throw UsageError("--format " + value + ": needs \"text\" or \"json\"");
    return value == "json" ? Format::json : Format::text;
}

std::optional<Severity> read_severity(const std::string &value)
{
    if (value == "never")
        return std::nullopt;
    if (value != "error" && value != "warning")
        throw UsageError("--fail-on " + value + R"(: needs "error", "warning" or "never")");
    return value == "error" ? Severity::error : Severity::warning;
}

struct Option {
    std::string_view name;
    std::string_view short_name;  // empty: it has none
    std::string_view argument;    // empty: it is a switch
    std::string_view help;
    void (*set)(Options &options, const std::string &value);
};

constexpr Option table[] = {
    {"--dbname", "-d", "CONNINFO", "where to connect: a URI, or service=...; else PGHOST and so on",
     [](Options &o, const std::string &value) { o.conninfo = value; }},
    {"--format", "", "text|json", "the form of what it finds (text)",
     [](Options &o, const std::string &value) { o.format = read_format(value); }},
    {"--fail-on", "", "SEVERITY", "the least for exit code 1: error, warning or never (error)",
     [](Options &o, const std::string &value) { o.fail_on = read_severity(value); }},
    {"--help", "-h", "", "prints this", [](Options &o, const std::string &) { o.help = true; }},
    {"--version", "-V", "", "prints the version",
     [](Options &o, const std::string &) { o.version = true; }},
};

const Option &find(const std::string &word)
{
    for (const Option &option : table)
        if (word == option.name || (!option.short_name.empty() && word == option.short_name))
            return option;
    throw UsageError("doctor has no option " + word);
}

}  // namespace

Options parse_command_line(const std::vector<std::string> &arguments)
{
    Options options;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string &word = arguments[i];
        const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
        const std::string name = word.substr(0, equals);
        const Option &option = find(name);
        const bool has_value = equals != std::string::npos;
        if (option.argument.empty() && has_value)
            throw UsageError(std::string(option.name) + " takes no value");
        if (!option.argument.empty() && !has_value && i + 1 == arguments.size())
            throw UsageError(word + " needs a value: " + std::string(option.argument));
        if (option.argument.empty())
            option.set(options, "");
        else
            option.set(options, has_value ? word.substr(equals + 1) : arguments[++i]);
    }
    return options;
}

std::string help_text()
{
    std::string text =
        "hipq-run doctor tells what is wrong in how hipq is set up in a database.\n\n"
        "  hipq-run doctor --dbname service=jobs --fail-on warning\n\n"
        "Exit code 0: nothing of that severity; 1: there is; 2: it could not ask.\n\n"
        "Options:\n";
    for (const Option &option : table) {
        std::string names =
            option.short_name.empty() ? "      " : "  " + std::string(option.short_name) + ", ";
        names += option.name;
        if (!option.argument.empty())
            names.append(" ").append(option.argument);
        names.resize(30, ' ');
        text.append(names).append(option.help).append("\n");
    }
    return text + "\nThe manual is docs/hipq-run.md, and man hipq-run.\n";
}

}  // namespace hipq::run::doctor
