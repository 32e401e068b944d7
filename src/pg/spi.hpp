// SQL statements from C++: constants with parameters, prepared once per process, with results as
// plain C++ values.
#pragma once

#include "pg/guard.hpp"

namespace hipq::pg {

// A point in time as PostgreSQL counts it: microseconds since 2000-01-01 UTC. (A type of its own,
// so that parameters tell it from a plain number.)
struct Time {
    std::int64_t value = 0;
    auto operator<=>(const Time &) const =
        default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 sees a null pointer
};
inline constexpr Time infinity{std::numeric_limits<std::int64_t>::max()};  // DT_NOEND

// Unset times are stored as year 9999, because some drivers cannot read infinity. Users may write
// any time, even infinity: every time from this one on counts as never, and becomes infinity in
// memory.
inline constexpr Time far_time{252'424'080'000'000'000};  // 9999-01-01 00:00:00+00
inline constexpr Time unless_far(Time time)
{
    return time < far_time ? time : infinity;
}

inline Time operator+(Time time, std::int64_t microseconds)
{
    return Time{time.value + microseconds};
}

// A value of any type, unconverted; PostgreSQL owns the memory that it refers to.
struct RawValue {
    Oid type;
    Datum value;
    bool null = false;
};

// A parameter of a statement. Texts and arrays are borrowed until the statement has run.
class Parameter {
public:
    Parameter(bool value) : type_(BOOLOID), integer_(value) {}
    Parameter(std::int16_t value) : type_(INT2OID), integer_(value) {}
    Parameter(std::int32_t value) : type_(INT4OID), integer_(value) {}
    Parameter(std::int64_t value) : type_(INT8OID), integer_(value) {}
    Parameter(Oid value) : type_(OIDOID), integer_(value) {}
    Parameter(double value) : type_(FLOAT8OID), number_(value) {}
    Parameter(Time value) : type_(TIMESTAMPTZOID), integer_(value.value) {}
    Parameter(std::string_view value) : type_(TEXTOID), text_(value) {}
    Parameter(const char *value) : Parameter(std::string_view(value)) {}
    Parameter(const std::string &value) : Parameter(std::string_view(value)) {}
    Parameter(const std::vector<std::string> &value) : type_(TEXTARRAYOID), texts_(&value) {}
    Parameter(const std::vector<std::int64_t> &value) : type_(INT8ARRAYOID), integers_(&value) {}
    Parameter(RawValue value)
        : type_(value.type), null_(value.null), raw_(true),
          integer_(static_cast<std::int64_t>(value.value))
    {
    }
    template <class T>
    Parameter(const std::optional<T> &value)
        : Parameter(value.has_value() ? Parameter(*value) : null_of(Parameter(T{})))
    {
    }

    Oid type() const { return type_; }
    bool null() const { return null_; }
    // Allocates in the current memory context. Call inside pg::call() only.
    Datum datum() const;

private:
    static Parameter null_of(Parameter parameter)
    {
        parameter.null_ = true;
        return parameter;
    }
    Oid type_;
    bool null_ = false;
    bool raw_ = false;
    std::int64_t integer_ = 0;
    double number_ = 0;
    std::string_view text_{};
    const std::vector<std::string> *texts_ = nullptr;
    const std::vector<std::int64_t> *integers_ = nullptr;
};

// One value of a result. Integers, booleans, OIDs and times are integers; double precision is a
// number; row positions (tid), jsonb, arrays of jsonb, and rows stay as they are; everything else
// is text.
struct Cell {
    bool null;
    Oid type;
    std::int64_t integer;
    double number;
    const char *text;  // in the caller's memory context
    ItemPointerData place;
    Datum datum;  // jsonb, arrays of it, and rows: a copy in the caller's memory context
};

class Row {
public:
    explicit Row(const Cell *cells) : cells_(cells) {}
    bool null(int column) const { return cells_[column].null; }
    std::int64_t integer(int column) const { return cells_[column].integer; }
    int integer32(int column) const { return static_cast<int>(cells_[column].integer); }
    Oid oid(int column) const { return static_cast<Oid>(cells_[column].integer); }
    bool boolean(int column) const { return cells_[column].integer != 0; }
    double number(int column) const { return cells_[column].number; }
    Time time(int column) const { return unless_far(Time{cells_[column].integer}); }
    std::string text(int column) const
    {
        return cells_[column].null ? std::string() : std::string(chars(column));
    }
    ItemPointerData place(int column) const { return cells_[column].place; }  // NULL: not valid
    Datum datum(int column) const { return cells_[column].datum; }
    RawValue raw(int column) const
    {
        return RawValue{cells_[column].type, cells_[column].datum, cells_[column].null};
    }
    std::optional<std::int64_t> maybe_integer(int column) const
    {
        return null(column) ? std::nullopt : std::optional<std::int64_t>(integer(column));
    }
    std::optional<std::string> maybe_text(int column) const
    {
        return null(column) ? std::nullopt : std::optional<std::string>(text(column));
    }

private:
    const char *chars(int column) const
    {
        if (cells_[column].text == nullptr)
            raise_no_text(cells_[column].type);
        return cells_[column].text;
    }
    [[noreturn]] static void raise_no_text(Oid type);  // 42804: a user has altered a table of hipq
    const Cell *cells_;
};

// The rows that a statement returned. They live in the memory context that was current when the
// statement ran.
class Rows {
public:
    Rows(const Cell *cells, std::size_t rows, std::size_t columns, std::uint64_t processed)
        : cells_(cells), rows_(rows), columns_(columns), processed_(processed)
    {
    }
    std::size_t size() const { return rows_; }
    bool empty() const { return rows_ == 0; }
    std::uint64_t processed() const
    {
        return processed_;
    }  // rows touched by INSERT, UPDATE, DELETE
    Row operator[](std::size_t row) const { return Row(cells_ + row * columns_); }
    // The first row. Throws if there is none: the error becomes XX000 and names the caller.
    Row front(const char *file = __builtin_FILE(), int line = __builtin_LINE()) const
    {
        if (empty())
            throw std::out_of_range("no row for " + std::string(file) + ":" + std::to_string(line));
        return (*this)[0];
    }

    class Iterator {
    public:
        Iterator(const Rows *rows, std::size_t row) : rows_(rows), row_(row) {}
        Row operator*() const { return (*rows_)[row_]; }
        Iterator &operator++()
        {
            ++row_;
            return *this;
        }
        bool operator!=(const Iterator &other) const { return row_ != other.row_; }

    private:
        const Rows *rows_;
        std::size_t row_;
    };
    Iterator begin() const { return {this, 0}; }
    Iterator end() const { return {this, rows_}; }

private:
    const Cell *cells_;
    std::size_t rows_;
    std::size_t columns_;
    std::uint64_t processed_;
};

// An SQL statement, prepared at its first run and kept for the life of the process; prepared again
// for parameters of other types. Needs a transaction, and a pinned search_path (as_extension_owner;
// the scheduler's session), which test builds assert. Runs as the current user, and reads with a
// fresh snapshot in READ COMMITTED. Raises the errors of the statement.
class Statement {
public:
    // `sql` must outlive the statement: a constant, or a text kept for the life of the process.
    constexpr explicit Statement(const char *sql) : sql_(sql) {}

    template <class... Arguments>
    Rows run(const Arguments &...arguments)
    {
        const std::array<Parameter, sizeof...(Arguments)> parameters{Parameter(arguments)...};
        return execute(std::span<const Parameter>(parameters));
    }
    Rows execute(std::span<const Parameter> parameters);

    // For a SELECT: reads what is committed at this moment, even under REPEATABLE READ and
    // SERIALIZABLE.
    template <class... Arguments>
    Rows run_latest(const Arguments &...arguments)
    {
        const std::array<Parameter, sizeof...(Arguments)> parameters{Parameter(arguments)...};
        return execute_latest(std::span<const Parameter>(parameters));
    }
    Rows execute_latest(std::span<const Parameter> parameters);

    // For a SELECT: reads what the statement that calls hipq sees, as a function in a view must.
    template <class... Arguments>
    Rows run_in_snapshot(const Arguments &...arguments)
    {
        const std::array<Parameter, sizeof...(Arguments)> parameters{Parameter(arguments)...};
        return execute_in_snapshot(std::span<const Parameter>(parameters));
    }
    Rows execute_in_snapshot(std::span<const Parameter> parameters);

    // Returns whether the statement is being executed: the code that it runs may call it again.
    bool is_under_way() const { return executions_ > 0; }
    // Frees the plan; the next execution prepares the statement again. Must not be called during an
    // execution.
    void forget_plan();

private:
    const char *sql_;
    SPIPlanPtr plan_ = nullptr;
    int executions_ = 0;
};

// Runs a statement once, without keeping its plan: DDL and statements built from identifiers. Same
// requirements as for Statement.
Rows execute_once(const std::string &sql, std::span<const Parameter> parameters,
                  bool with_callers_path = false);

template <class... Arguments>
Rows run_once(const std::string &sql, const Arguments &...arguments)
{
    const std::array<Parameter, sizeof...(Arguments)> parameters{Parameter(arguments)...};
    return execute_once(sql, std::span<const Parameter>(parameters));
}

// The same in a trigger; the statement may read the transition tables by name.
Rows execute_in_trigger(TriggerData *trigger, const std::string &sql,
                        std::span<const Parameter> parameters);

template <class... Arguments>
Rows run_in_trigger(TriggerData *trigger, const std::string &sql, const Arguments &...arguments)
{
    const std::array<Parameter, sizeof...(Arguments)> parameters{Parameter(arguments)...};
    return execute_in_trigger(trigger, sql, std::span<const Parameter>(parameters));
}

// The same as the caller, with the caller's search_path: what hipq adds to the caller's own text
// qualifies every name with its schema and contains no operator.
template <class... Arguments>
Rows run_as_caller(const std::string &sql, const Arguments &...arguments)
{
    const std::array<Parameter, sizeof...(Arguments)> parameters{Parameter(arguments)...};
    return execute_once(sql, std::span<const Parameter>(parameters), true);
}

}  // namespace hipq::pg
