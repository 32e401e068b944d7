// The options of queues and job types: arguments of the functions that create, replace and alter
// these, each stored in a column. A new option is a row in a list, and an argument in SQL.
#pragma once

#include "pg/arguments.hpp"

#include <span>

namespace hipq::admin {

struct Option {
    enum class Kind : unsigned char {
        boolean,
        integer,
        number,
        text,
        texts,
        json,
        seconds,          // a hipq.duration of 1 s at least
        seconds_or_zero,  // a hipq.duration
        interval,         // a hipq.duration that is stored as an interval
        computed,         // set() gives the value
    };
    const char *name;  // of the argument
    Kind kind;
    const char *if_new = nullptr;  // SQL: the value if a new object is not given one
    const char *column = nullptr;  // if its name is not that of the argument

    // Whether an object without a value has that of its queue, its instance or a setting; then the
    // option can be reset.
    bool falls_back() const { return if_new == nullptr && kind != Kind::computed; }
};

// The values of options that a call gives, and the parts of statements that store them. Leaves out
// options that the function does not declare; the previous release lacks some.
class OptionValues {
public:
    OptionValues(const pg::Arguments &arguments, std::span<const Option> options);

    // Gives the value of a computed option, unless the function does not declare it. A text must
    // live as long as this object.
    void set(const char *name, pg::Parameter value);

    // Their columns: "a, b".
    std::string columns() const;
    // The values of a new object; the first is parameter `first`: "coalesce($7, 0), $8".
    std::string of_new(int first) const;
    // How to change an object; parameter `to_reset` is an array of names: "a = coalesce($7, a)".
    std::string changes(int first, int to_reset) const;
    // How a row that conflicts gets the new values: "a = EXCLUDED.a".
    std::string from_excluded() const;

    // Returns `before` and the values.
    std::vector<pg::Parameter> after(std::vector<pg::Parameter> before) const;

private:
    std::vector<Option> options_;
    std::vector<pg::Parameter> values_;
};

// Reads the argument "reset". 22023 for a name that is not that of an option that falls back, or if
// that argument is given too.
std::vector<std::string> read_reset(const pg::Arguments &arguments,
                                    std::span<const Option> options);

// Returns the options that fall back and are not given; in an object that is replaced, these are
// reset.
std::vector<std::string> not_given(const pg::Arguments &arguments, std::span<const Option> options);

}  // namespace hipq::admin
