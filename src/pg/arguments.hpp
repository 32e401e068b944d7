// Arguments and results of SQL-callable functions as C++ values. NULL is an empty optional.
#pragma once

#include "core/job/bounds.hpp"
#include "pg/duration.hpp"
#include "pg/spi.hpp"

namespace hipq::pg {

// Names an argument as the function's declaration does. To find it by name reads the catalog; for
// functions that run once or more for each job, its position, counted from 0, comes before its
// name.
class Argument {
public:
    constexpr Argument(const char *name) : name_(name) {}
    Argument(int position) = delete;
    constexpr Argument(int position, const char *name) : position_(position), name_(name) {}
    // An argument that the function does not have in the previous release: NULL there.
    static constexpr Argument later(Argument which)
    {
        which.is_later_ = true;
        return which;
    }

    constexpr std::optional<int> position() const { return position_; }
    constexpr const char *name() const { return name_; }
    constexpr bool is_later() const { return is_later_; }

private:
    std::optional<int> position_;
    const char *name_;
    bool is_later_ = false;
};

class Arguments {
public:
    explicit Arguments(FunctionCallInfo fcinfo) : fcinfo_(fcinfo) {}

    // Returns whether the function is declared with this argument: in an extension of the previous
    // release it may not be. Other members raise 42P13 then, unless the argument is a later one.
    bool takes(Argument which) const;

    // Returns whether the argument is not NULL.
    bool has(Argument which) const { return !value(which).isnull; }

    // Required arguments: 22004, naming the argument, if it is NULL. Texts: 54000, naming the
    // argument, if it is longer than `most` bytes.
    std::string text(Argument which, std::size_t most = core::most_text) const;
    std::int32_t integer(Argument which) const;
    std::int64_t integer64(Argument which) const;
    bool boolean(Argument which) const;
    Oid oid(Argument which) const;
    std::int64_t duration(Argument which) const;

    std::optional<std::string> maybe_text(Argument which, std::size_t most = core::most_text) const;
    std::optional<std::int32_t> maybe_int(Argument which) const;
    std::optional<std::int64_t> maybe_int64(Argument which) const;
    std::optional<bool> maybe_bool(Argument which) const;
    std::optional<Oid> maybe_oid(Argument which) const;
    std::optional<pg::Time> maybe_time(Argument which) const;
    // A numeric, and a double precision. NaN and infinity are returned unchanged.
    std::optional<double> maybe_number(Argument which) const;
    std::optional<double> maybe_double(Argument which) const;
    // A hipq.duration (duration.hpp), in microseconds.
    std::optional<std::int64_t> maybe_duration(Argument which) const;
    std::optional<TimeOrDuration> maybe_time_or_duration(Argument which) const;
    // A hipq.duration in seconds, rounded up. 22023, naming the argument, unless it is between
    // `least` and 2^31 - 1.
    std::optional<std::int32_t> maybe_seconds(Argument which, std::int32_t least = 1) const;

    // The elements of a text[]; none for NULL. texts_without_nulls: 22004, naming the argument, if
    // an element is NULL. 54000 if there are more than `most_elements`, or one is longer than
    // `most` bytes.
    std::vector<std::optional<std::string>> texts(Argument which, std::size_t most_elements,
                                                  std::size_t most = core::most_text) const;
    std::vector<std::string> texts_without_nulls(Argument which,
                                                 std::size_t most_elements = core::most_names,
                                                 std::size_t most = core::most_text) const;

    // The elements of a hipq.duration[], in microseconds; none for NULL. 54000 if there are more
    // than core::most_jobs_at_once.
    std::vector<std::optional<std::int64_t>> durations(Argument which) const;

    // The elements of a bigint[], an integer[], a jsonb[]. 22004, naming the argument, if it is
    // NULL, or for numbers if an element is NULL; 54000 if there are more than
    // core::most_jobs_at_once.
    std::vector<std::int64_t> integers64(Argument which) const;
    std::vector<std::int32_t> integers(Argument which) const;
    std::vector<pg::RawValue> jsons(Argument which) const;

    // The argument unchanged, as a parameter of a statement; NULL stays NULL.
    pg::RawValue raw(Argument which, Oid type) const
    {
        const NullableDatum &found = value(which);
        return {type, found.value, found.isnull};
    }

private:
    const NullableDatum &value(Argument which) const;
    const NullableDatum &require(Argument which) const;
    std::optional<int> find(const char *name) const;

    FunctionCallInfo fcinfo_;
    mutable std::vector<std::string> names_;  // empty until an argument is looked up by name
};

// Results. return_text() allocates in the caller's memory context.
Datum return_text(std::string_view text);
Datum return_void();
Datum return_ids(const std::vector<std::int64_t> &ids);  // bigint[]
inline Datum return_bool(bool value)
{
    return BoolGetDatum(value);
}
inline Datum return_int(std::int32_t value)
{
    return Int32GetDatum(value);
}

// The row of a function with OUT parameters; the values are in their order, at most 32.
Datum return_one_row(FunctionCallInfo fcinfo, std::span<const pg::Parameter> row);
template <class... Values>
Datum return_row(FunctionCallInfo fcinfo, const Values &...values)
{
    const std::array<pg::Parameter, sizeof...(Values)> row{pg::Parameter(values)...};
    return return_one_row(fcinfo, std::span<const pg::Parameter>(row));
}

// The rows of a set-returning function: create it once, add row by row, and return return_void().
// The values are in the order of the OUT parameters.
class ResultSet {
public:
    explicit ResultSet(FunctionCallInfo fcinfo);
    // Adds a row of at most 32 columns. Parameter converts numbers, booleans, texts, times,
    // RawValue and optionals.
    template <class... Values>
    void add(const Values &...values)
    {
        const std::array<pg::Parameter, sizeof...(Values)> row{pg::Parameter(values)...};
        add_row(std::span<const pg::Parameter>(row));
    }
    void add_row(std::span<const pg::Parameter> row);
    // Adds a row given as a value of the function's row type.
    void add_composite(pg::RawValue row);

private:
    FunctionCallInfo fcinfo_;
    ReturnSetInfo *info_;
};

}  // namespace hipq::pg
