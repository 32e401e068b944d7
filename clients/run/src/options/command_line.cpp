// Reads the command line: options up to "--" or the first other word, then the program.
#include "options/options.hpp"

#include <unistd.h>

#include <array>

namespace hipq::run {

namespace {

class CommandLine {
public:
    explicit CommandLine(const std::vector<std::string> &arguments) : arguments_(arguments) {}

    // Sets an option of the command line. It overrides the file, which is read before.
    Options read()
    {
        while (at_ < arguments_.size() && is_option(arguments_[at_]))
            if (arguments_[at_++] == "--")
                break;
            else
                take(arguments_[at_ - 1]);
        const std::vector<std::string> command(arguments_.begin() + static_cast<long>(at_),
                                               arguments_.end());
        Options options;
        if (const std::string file = config_file(); !file.empty())
            read_config(file, options);
        apply(options);
        if (!command.empty())
            options.command = command;
        return options;
    }

private:
    struct Given {
        const Option *option;
        std::string as;  // as the user wrote it
        std::string value;
    };

    static bool is_option(const std::string &word) { return word.size() > 1 && word[0] == '-'; }

    void take(const std::string &word)
    {
        const bool is_long = word[1] == '-';
        const std::size_t equals = is_long ? word.find('=') : 2;
        const std::string as = word.substr(0, equals);
        const Option *option = is_long ? find_option(as.substr(2)) : find_letter(word[1]);
        if (option == nullptr)
            throw UsageError("there is no option " + as);
        const bool has_value = equals != std::string::npos && equals < word.size();
        if (option->is_switch()) {
            if (has_value)
                throw UsageError(as + " takes no value");
            given_.push_back({option, as, "yes"});
        } else if (has_value) {
            given_.push_back({option, as, word.substr(equals + (is_long ? 1 : 0))});
        } else if (at_ < arguments_.size()) {
            given_.push_back({option, as, arguments_[at_++]});
        } else {
            throw UsageError(as + " needs a value: " + option->argument);
        }
    }

    static const Option *find_letter(char letter)
    {
        for (const Option &option : option_table())
            if (option.letter == letter)
                return &option;
        return nullptr;
    }

    std::string config_file() const
    {
        std::string file;
        for (const Given &given : given_)
            if (given.option->name == "config")
                file = given.value;
        return file;
    }

    void apply(Options &options) const
    {
        Options lists;
        for (const Given &given : given_) {
            const bool adds = given.option->name == "queue" || given.option->name == "types";
            try {
                given.option->set(adds ? lists : options, given.value);
            } catch (const UsageError &error) {
                throw UsageError(given.as + " " + given.value + ": " + error.what());
            }
        }
        // Names on the command line replace those of the file.
        if (!lists.queues.empty())
            options.queues = lists.queues;
        if (!lists.types.empty())
            options.types = lists.types;
    }

    const std::vector<std::string> &arguments_;
    std::size_t at_ = 0;
    std::vector<Given> given_;
};

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
    Options options = CommandLine(arguments).read();
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
