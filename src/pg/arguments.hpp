// Arguments and results of SQL-callable functions as C++ values. Arguments are counted from 0; NULL
// is an empty optional.
#pragma once

#include "core/job/bounds.hpp"
#include "pg/duration.hpp"
#include "pg/spi.hpp"

namespace hipq::pg {

class Arguments {
public:
    explicit Arguments(FunctionCallInfo fcinfo) : fcinfo_(fcinfo) {}

    // Returns whether the function is declared with this argument: in an extension of the previous
    // release it may not be.
    bool takes(int i) const { return i < fcinfo_->nargs; }

    // Returns whether the argument is not NULL.
    bool has(int i) const { return !argument(i).isnull; }

    // Required arguments: 22004, naming the argument, if it is NULL. Texts: 54000, naming the
    // argument, if it is longer than `most` bytes.
    std::string text(int i, const char *name, std::size_t most = core::most_text) const;
    std::int32_t integer(int i, const char *name) const;
    std::int64_t integer64(int i, const char *name) const;
    bool boolean(int i, const char *name) const;
    Oid oid(int i, const char *name) const;
    std::int64_t duration(int i, const char *name) const;

    std::optional<std::string> maybe_text(int i, std::size_t most = core::most_text) const;
    std::optional<std::int32_t> maybe_int(int i) const;
    std::optional<std::int64_t> maybe_int64(int i) const;
    std::optional<bool> maybe_bool(int i) const;
    std::optional<Oid> maybe_oid(int i) const;
    std::optional<pg::Time> maybe_time(int i) const;
    // A numeric, and a double precision. NaN and infinity are returned unchanged.
    std::optional<double> maybe_number(int i) const;
    std::optional<double> maybe_double(int i) const;
    // A hipq.duration (duration.hpp), in microseconds.
    std::optional<std::int64_t> maybe_duration(int i) const;
    // The same in seconds, rounded up. 22023, naming the argument, unless it is between `least` and
    // 2^31 - 1.
    std::optional<std::int32_t> maybe_seconds(int i, std::int32_t least = 1) const;

    // The elements of a text[]; none for NULL. texts_without_nulls: 22004, naming the argument, if
    // an element is NULL. 54000 if there are more than `most_elements`, or one is longer than
    // `most` bytes.
    std::vector<std::optional<std::string>> texts(int i, std::size_t most_elements,
                                                  std::size_t most = core::most_text) const;
    std::vector<std::string> texts_without_nulls(int i, const char *name,
                                                 std::size_t most_elements = core::most_names,
                                                 std::size_t most = core::most_text) const;

    // The elements of a hipq.duration[], in microseconds; none for NULL. 54000 if there are more
    // than core::most_jobs_at_once.
    std::vector<std::optional<std::int64_t>> durations(int i) const;

    // The elements of a bigint[], an integer[], a jsonb[]. 22004, naming the argument, if it is
    // NULL, or for numbers if an element is NULL; 54000 if there are more than
    // core::most_jobs_at_once.
    std::vector<std::int64_t> integers64(int i, const char *name) const;
    std::vector<std::int32_t> integers(int i, const char *name) const;
    std::vector<pg::RawValue> jsons(int i, const char *name) const;

    // The argument unchanged, as a parameter of a statement; NULL stays NULL.
    pg::RawValue raw(int i, Oid type) const
    {
        return {type, argument(i).value, argument(i).isnull};
    }

private:
    // Memory beyond the last argument is undefined.
    const NullableDatum &argument(int i) const
    {
        if (i >= fcinfo_->nargs)
            raise_too_few();
        return fcinfo_->args[i];
    }
    [[noreturn]] void raise_too_few() const;
    void require(int i, const char *name) const;
    std::string name_of(int i) const;
    void check_length(int i, std::size_t bytes, std::size_t most) const;
    void check_count(int i, std::size_t elements, std::size_t most) const;
    FunctionCallInfo fcinfo_;
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
