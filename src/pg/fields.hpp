// Reads rows into structs by a list of fields. Each field names a column next to the member that it
// fills, so there are no column numbers to mix up.
#pragma once

#include "pg/spi.hpp"

namespace hipq::pg {

// A value of a row that is not NULL.
class Value {
public:
    Value(const Row &row, int column) : row_(row), column_(column) {}
    std::int64_t integer() const { return row_.integer(column_); }
    bool boolean() const { return row_.boolean(column_); }
    std::string text() const { return row_.text(column_); }
    RawValue raw() const { return row_.raw(column_); }

    // The value as the type of a member.
    template <class Member>
    Member as() const
    {
        if constexpr (std::is_same_v<Member, bool>)
            return boolean();
        else if constexpr (std::is_integral_v<Member>)
            return static_cast<Member>(integer());
        else if constexpr (std::is_same_v<Member, double>)
            return row_.number(column_);
        else if constexpr (std::is_same_v<Member, Time>)
            return row_.time(column_);
        else if constexpr (std::is_same_v<Member, RawValue>)
            return raw();
        else if constexpr (std::is_same_v<Member, std::string>)
            return text();
        else
            return as<typename Member::value_type>();  // std::optional
    }

private:
    Row row_;
    int column_;
};

// A column expression in SQL, and how to store its value in the struct. NULL leaves the struct
// unchanged.
template <class Struct>
struct Field {
    const char *expression;
    void (*fill)(Struct &, const Value &);
};

template <auto member>
struct MemberOf;
template <class Struct_, class Member_, Member_ Struct_::*member>
struct MemberOf<member> {
    using Struct = Struct_;
    using Member = Member_;
};

// A field stores the value in a member: field<&Queue::id>("queue.queue_id"). A member of a nested
// struct has two names: field<&Queue::caps, &core::JobCaps::max_timeout>(...).
template <auto first, auto... rest>
constexpr Field<typename MemberOf<first>::Struct> field(const char *expression)
{
    using Struct = typename MemberOf<first>::Struct;
    return {expression, [](Struct &filled, const Value &value) {
                auto &member = ((filled.*first).*....*rest);
                member = value.as<std::remove_reference_t<decltype(member)>>();
            }};
}

// The statement that selects the columns of the fields, and the conversion of its rows to structs.
// Otherwise like Statement.
template <class Struct>
class Selection {
public:
    // `fields` and `rest`, the statement from FROM on, must outlive the selection.
    constexpr Selection(std::span<const Field<Struct>> fields, const char *rest)
        : fields_(fields), rest_(rest)
    {
    }

    template <class... Arguments>
    Rows run(const Arguments &...arguments)
    {
        return statement().run(arguments...);
    }
    template <class... Arguments>
    Rows run_latest(const Arguments &...arguments)
    {
        return statement().run_latest(arguments...);
    }

    // Reads a row into a struct that already has the values that NULL stands for.
    void fill(Struct &filled, const Row &row) const
    {
        for (std::size_t i = 0; i < fields_.size(); ++i)
            if (const int column = static_cast<int>(i); !row.null(column))
                fields_[i].fill(filled, Value(row, column));
    }
    Struct read(const Row &row) const
    {
        Struct filled{};
        fill(filled, row);
        return filled;
    }

private:
    // The text is kept for the life of the process, like the statement.
    Statement &statement()
    {
        if (statement_ == nullptr) {
            const auto *text = new std::string(text_of_statement());
            statement_ = new Statement(text->c_str());
        }
        return *statement_;
    }
    std::string text_of_statement() const
    {
        std::string text;
        for (const Field<Struct> &field : fields_)
            text.append(text.empty() ? "SELECT " : ", ").append(field.expression);
        return text.append(" ").append(rest_);
    }

    std::span<const Field<Struct>> fields_;
    const char *rest_;
    Statement *statement_ = nullptr;
};

}  // namespace hipq::pg
