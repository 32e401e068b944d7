// Reads an option file: a JSON object whose keys are the option names, and "command".
#include "options/options.hpp"

#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>

namespace hipq::run {

namespace {

using nlohmann::json;

// A value in the form of the command line: lists are names with commas, objects are JSON.
std::string text_of(const json &value)
{
    if (value.is_string())
        return value.get<std::string>();
    if (value.is_boolean())
        return value.get<bool>() ? "yes" : "no";
    if (!value.is_array())
        return value.dump();
    std::string names;
    for (const json &name : value) {
        if (!name.is_string())
            throw UsageError("a list has to be of texts");
        names += (names.empty() ? "" : ",") + name.get<std::string>();
    }
    return names;
}

void set_command(Options &options, const json &value)
{
    if (!value.is_array() || value.empty())
        throw UsageError("needs a list: the program and its arguments");
    options.command.clear();
    for (const json &word : value) {
        if (!word.is_string())
            throw UsageError("a list has to be of texts");
        options.command.push_back(word);
    }
}

void set(Options &options, const std::string &key, const json &value)
{
    if (key == "command")
        return set_command(options, value);
    const Option *option = program::find_option(option_table(), key);
    if (option == nullptr || key == "config" || key == "help" || key == "version")
        throw UsageError("there is no such key");
    if (value.is_null() || value.is_boolean() != option->is_switch())
        throw UsageError(option->is_switch() ? "needs true or false" : "needs a value");
    option->set(options, text_of(value));
}

}  // namespace

void parse_config(const std::string &text, Options &options)
{
    json file;
    try {
        file = json::parse(text, nullptr, true, true);
    } catch (const json::exception &error) {
        throw UsageError(std::string("is not JSON: ") + error.what());
    }
    if (!file.is_object())
        throw UsageError("is not a JSON object");
    for (const auto &[key, value] : file.items()) {
        try {
            set(options, key, value);
        } catch (const UsageError &error) {
            throw UsageError("\"" + key + "\": " + error.what());
        }
    }
}

void read_config(const std::string &path, Options &options)
{
    std::ifstream file(path);
    std::stringstream text;
    if (!file || !(text << file.rdbuf()))
        throw UsageError("--config " + path + ": cannot be read");
    try {
        parse_config(text.str(), options);
    } catch (const UsageError &error) {
        throw UsageError("--config " + path + ": " + error.what());
    }
}

}  // namespace hipq::run
