// The options of hipq-top: the only list of them, for the command line and the help.
#include "options/options.hpp"

#include <charconv>

namespace hipq::top {

namespace {

double read_seconds(const std::string &text)
{
    double seconds = 0;
    const char *end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, seconds);
    if (problem != std::errc() || rest != end || !(seconds >= 0.1) || seconds > 3600)
        throw UsageError("needs seconds from 0.1 to 3600, such as 1 or 0.5");
    return seconds;
}

std::vector<Option> make_table()
{
    using O = Options;
    using S = std::string;
    return {
        {"host", 'h', "HOST", "the server's host, or the folder of its socket",
         [](O &o, const S &value) { o.host = value; }},
        {"port", 'p', "PORT", "its port", [](O &o, const S &value) { o.port = value; }},
        {"username", 'U', "ROLE", "the role to connect as",
         [](O &o, const S &value) { o.user = value; }},
        {"dbname", 'd', "DBNAME", "the database: a name, a URI, or service=...",
         [](O &o, const S &value) { o.dbname = value; }},
        {"delay", 0, "SECONDS", "between two looks (1)",
         [](O &o, const S &value) { o.delay = read_seconds(value); }},
        {"once", '1', "", "prints the first screen as text, and ends",
         [](O &o, const S &) { o.once = true; }},
        {"batch", 'b', "", "prints it again and again, until it is stopped",
         [](O &o, const S &) { o.batch = true; }},
        {"sort", 's', "COLUMN",
         "the order of the queues, as hipq.top() takes it: backlog, p99, ... (busy)",
         [](O &o, const S &value) { o.sort = value; }},
        {"lines", 'n', "N", "how many queues (all)",
         [](O &o, const S &value) { o.lines = program::read_number(value, 0, 100'000); }},
        {"read-only", 'r', "", "changes nothing: without pause, cancel and so on",
         [](O &o, const S &) { o.read_only = true; }},
        {"help", '?', "", "prints this", [](O &o, const S &) { o.help = true; }},
        {"version", 'V', "", "prints the version", [](O &o, const S &) { o.version = true; }},
    };
}

}  // namespace

const std::vector<Option> &option_table()
{
    static const std::vector<Option> table = make_table();
    return table;
}

std::string help_text()
{
    const std::string text =
        "hipq-top shows on a terminal what goes on in the queues of hipq.\n\n"
        "  hipq-top [OPTION ...] [DBNAME [ROLE]]\n\n"
        "What is left out say PGHOST, PGSERVICE, PGPASSFILE and so on.\n\nOptions:\n";
    return text + program::help_lines(option_table()) +
           "\nKey ? says what the keys do. The manual is docs/hipq-top.md, and man hipq-top.\n";
}

}  // namespace hipq::top
