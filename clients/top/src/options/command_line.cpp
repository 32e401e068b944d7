// Reads the command line: options as for psql, and a database and a role without option names.
#include "options/options.hpp"

namespace hipq::top {

namespace {

void set_words(const std::vector<std::string> &words, Options &options)
{
    for (const std::string &word : words)
        if (options.dbname.empty())
            options.dbname = word;
        else if (options.user.empty())
            options.user = word;
        else
            throw UsageError("\"" + word + "\" is one word too many: DBNAME and ROLE are all");
}

}  // namespace

Options parse_command_line(const std::vector<std::string> &arguments)
{
    const auto line = program::divide(arguments, option_table(), program::OptionsEnd::at_dashes);
    Options options;
    line.set(options);
    set_words(line.words, options);
    if (options.once && options.batch)
        throw UsageError("--once prints once: not with --batch");
    return options;
}

// The database comes first: other options override the values of its URI.
std::vector<std::pair<std::string, std::string>> connection_parts(const Options &options)
{
    std::vector<std::pair<std::string, std::string>> parts;
    for (const auto &[keyword, value] : {std::pair("dbname", &options.dbname),
                                         {"host", &options.host},
                                         {"port", &options.port},
                                         {"user", &options.user}})
        if (!value->empty())
            parts.emplace_back(keyword, *value);
    return parts;
}

}  // namespace hipq::top
