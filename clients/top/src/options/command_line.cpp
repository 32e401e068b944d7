// Reads the command line: options as for psql, and a database and a role without option names.
#include "options/options.hpp"

namespace hipq::top {

namespace {

class CommandLine {
public:
    explicit CommandLine(const std::vector<std::string> &arguments) : arguments_(arguments) {}

    Options read()
    {
        bool only_words = false;
        while (at_ < arguments_.size()) {
            const std::string word = arguments_[at_++];
            if (!only_words && word == "--")
                only_words = true;
            else if (!only_words && word.size() > 1 && word[0] == '-')
                take(word);
            else
                take_word(word);
        }
        return options_;
    }

private:
    void take(const std::string &word)
    {
        const bool is_long = word[1] == '-';
        const std::size_t equals = is_long ? word.find('=') : 2;
        const std::string as = word.substr(0, equals);
        const Option *option = find(is_long, as);
        if (option == nullptr)
            throw UsageError("there is no option " + as);
        const bool has_value = equals != std::string::npos && equals < word.size();
        if (option->argument.empty()) {
            if (has_value)
                throw UsageError(as + " takes no value");
            set(*option, as, "");
        } else if (has_value) {
            set(*option, as, word.substr(equals + (is_long ? 1 : 0)));
        } else if (at_ < arguments_.size()) {
            set(*option, as, arguments_[at_++]);
        } else {
            throw UsageError(as + " needs a value: " + option->argument);
        }
    }

    static const Option *find(bool is_long, const std::string &as)
    {
        for (const Option &option : option_table())
            if (is_long ? "--" + option.name == as : option.letter != 0 && option.letter == as[1])
                return &option;
        return nullptr;
    }

    void set(const Option &option, const std::string &as, const std::string &value)
    {
        try {
            option.set(options_, value);
        } catch (const UsageError &error) {
            throw UsageError(as + " " + value + ": " + error.what());
        }
    }

    void take_word(const std::string &word)
    {
        if (options_.dbname.empty())
            options_.dbname = word;
        else if (options_.user.empty())
            options_.user = word;
        else
            throw UsageError("\"" + word + "\" is one word too many: DBNAME and ROLE are all");
    }

    const std::vector<std::string> &arguments_;
    std::size_t at_ = 0;
    Options options_;
};

}  // namespace

Options parse_command_line(const std::vector<std::string> &arguments)
{
    Options options = CommandLine(arguments).read();
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
