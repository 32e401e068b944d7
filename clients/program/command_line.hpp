// The command lines of hipq-run, hipq-top and hipq-web: options as those of psql, from a table,
// from which the help comes, too.
#pragma once

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>
#include <vector>

namespace hipq::program {

// An error in the user's input.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

template <class Options>
struct Option {
    std::string name;      // without dashes
    char letter;           // short form; 0: none
    std::string argument;  // its argument, as shown by the help; empty: a switch
    std::string help;
    // For a switch, the value is "yes". Throws UsageError, without the option's name.
    void (*set)(Options &options, const std::string &value);
    bool is_switch() const { return argument.empty(); }
};

// The option of that name; null: there is none.
template <class Options>
const Option<Options> *find_option(const std::vector<Option<Options>> &table,
                                   const std::string &name)
{
    const auto found = std::ranges::find(table, name, &Option<Options>::name);
    return found == table.end() ? nullptr : &*found;
}

// An option of a command line: as the user wrote it, and its value.
template <class Options>
struct Given {
    const Option<Options> *option;
    std::string as;
    std::string value;

    // Throws UsageError.
    void set(Options &options) const
    {
        try {
            option->set(options, value);
        } catch (const UsageError &error) {
            throw UsageError(as + " " + value + ": " + error.what());
        }
    }
};

// A command line, divided into options and other words.
template <class Options>
struct CommandLine {
    std::vector<Given<Options>> options;
    std::vector<std::string> words;

    // Throws UsageError.
    void set(Options &to) const
    {
        for (const Given<Options> &given : options)
            given.set(to);
    }
};

// Whether options end at the first other word, because it begins another command, or only at "--".
enum class OptionsEnd { at_first_word, at_dashes };

// Reads the option in `word`, and its value from the words that follow if it is not in the same
// word: --name VALUE, --name=VALUE, -n VALUE, -nVALUE. `next` is the position of the first word
// that is not read. Throws UsageError.
template <class Options>
Given<Options> read_option(const std::string &word, const std::vector<std::string> &arguments,
                           std::size_t &next, const std::vector<Option<Options>> &table)
{
    const bool is_long = word[1] == '-';
    const std::size_t name_ends = is_long ? std::min(word.find('='), word.size()) : 2;
    const std::string as = word.substr(0, name_ends);
    const auto option = std::ranges::find_if(table, [&](const Option<Options> &each) {
        return is_long ? "--" + each.name == as : each.letter != 0 && each.letter == as[1];
    });
    if (option == table.end())
        throw UsageError("there is no option " + as);
    const bool has_value = name_ends < word.size();
    if (option->is_switch() && has_value)
        throw UsageError(as + " takes no value");
    if (option->is_switch())
        return {&*option, as, "yes"};
    if (has_value)
        return {&*option, as, word.substr(name_ends + (is_long ? 1 : 0))};
    if (next == arguments.size())
        throw UsageError(as + " needs a value: " + option->argument);
    return {&*option, as, arguments[next++]};
}

// Divides the words of a command line. Throws UsageError.
template <class Options>
CommandLine<Options> divide(const std::vector<std::string> &arguments,
                            const std::vector<Option<Options>> &table, OptionsEnd end)
{
    CommandLine<Options> line;
    std::size_t at = 0;
    bool has_ended = false;
    while (at < arguments.size()) {
        const std::string &word = arguments[at++];
        if (!has_ended && word == "--") {
            has_ended = true;
        } else if (!has_ended && word.size() > 1 && word[0] == '-') {
            line.options.push_back(read_option(word, arguments, at, table));
        } else {
            line.words.push_back(word);
            has_ended = has_ended || end == OptionsEnd::at_first_word;
        }
    }
    return line;
}

// For programs that take nothing but options.
template <class Options>
void refuse_words(const CommandLine<Options> &line)
{
    if (!line.words.empty())
        throw UsageError("there is no option " + line.words.front());
}

// A line of the help for each option.
template <class Options>
std::string help_lines(const std::vector<Option<Options>> &table)
{
    constexpr std::size_t width = 30;
    std::string lines;
    for (const Option<Options> &option : table) {
        std::string names =
            option.letter == 0 ? "      " : std::string("  -") + option.letter + ", ";
        names += "--" + option.name + (option.is_switch() ? "" : " " + option.argument);
        names.resize(std::max(names.size() + 2, width), ' ');
        lines += names + option.help + "\n";
    }
    return lines;
}

// A whole number from least to most. Throws UsageError.
inline int read_number(const std::string &text, int least, int most)
{
    int number = 0;
    const char *end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, number);
    if (problem != std::errc() || rest != end || number < least || number > most)
        throw UsageError("needs a whole number from " + std::to_string(least) + " to " +
                         std::to_string(most));
    return number;
}

}  // namespace hipq::program
