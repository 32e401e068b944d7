// Reads the command line: options up to "--" or the first other word, then the program.
#include "options/options.hpp"

#include <unistd.h>

#include <array>

namespace hipq::run {

namespace {

using CommandLine = program::CommandLine<Options>;

std::string config_file(const CommandLine &line)
{
    std::string file;
    for (const auto &given : line.options)
        if (given.option->name == "config")
            file = given.value;
    return file;
}

// Names on the command line replace those of the file.
void apply(const CommandLine &line, Options &options)
{
    Options lists;
    for (const auto &given : line.options) {
        const bool adds = given.option->name == "queue" || given.option->name == "types";
        given.set(adds ? lists : options);
    }
    if (!lists.queues.empty())
        options.queues = lists.queues;
    if (!lists.types.empty())
        options.types = lists.types;
}

std::string default_name()
{
    std::array<char, 64> host{};
    ::gethostname(host.data(), host.size() - 1);
    const std::string process = "-" + std::to_string(::getpid());
    return std::string(host.data()).substr(0, 63 - process.size()) + process;
}

}  // namespace

Options parse_command_line(const std::vector<std::string> &arguments)
{
    const CommandLine line =
        program::divide(arguments, option_table(), program::OptionsEnd::at_first_word);
    Options options;
    if (const std::string file = config_file(line); !file.empty())
        read_config(file, options);
    apply(line, options);
    if (!line.words.empty())
        options.command = line.words;
    if (!options.help && !options.version)
        check_options(options);
    return options;
}

void check_options(Options &options)
{
    if (options.queues.empty())
        throw UsageError("no queue is named: --queue app.mail");
    if (options.types.empty())
        throw UsageError("no job type is named: --types welcome");
    if (options.command.empty() || options.command.front().empty())
        throw UsageError("no program is named: it comes last, after --");
    if (options.once && options.jobs != 1)
        throw UsageError("--once runs one job: not with --jobs");
    if (options.once && options.prefetch != 0)
        throw UsageError("--once runs one job: not with --prefetch");
    if (options.name.empty())
        options.name = default_name();
}

}  // namespace hipq::run
