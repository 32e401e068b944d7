// The result of a statement: rows with columns by name.
#pragma once

#include "hipq/client/errors.hpp"

#include <libpq-fe.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

namespace hipq::client {

class Result {
public:
    Result() = default;
    explicit Result(PGresult *result) : result_(result, PQclear) {}

    int rows() const { return PQntuples(result_.get()); }
    bool has(const char *column) const { return PQfnumber(result_.get(), column) >= 0; }

    // SQL NULL, or a column that does not exist, is none.
    std::optional<std::string> get(int row, const char *column) const
    {
        const int field = PQfnumber(result_.get(), column);
        if (field < 0 || PQgetisnull(result_.get(), row, field) != 0)
            return std::nullopt;
        return std::string(PQgetvalue(result_.get(), row, field),
                           static_cast<std::size_t>(PQgetlength(result_.get(), row, field)));
    }
    std::string text(int row, const char *column) const { return get(row, column).value_or(""); }
    std::int64_t number(int row, const char *column) const
    {
        return std::strtoll(text(row, column).c_str(), nullptr, 10);
    }

    const char *tag() const { return PQcmdStatus(result_.get()); }

    bool is_error() const
    {
        const ExecStatusType status = PQresultStatus(result_.get());
        return status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK;
    }
    Error error() const
    {
        const std::string message = field(PG_DIAG_MESSAGE_PRIMARY);
        const std::string detail = field(PG_DIAG_MESSAGE_DETAIL);
        if (message.empty())
            return Error(PQresultErrorMessage(result_.get()));
        return {detail.empty() ? message : message + ": " + detail, field(PG_DIAG_SQLSTATE),
                field(PG_DIAG_MESSAGE_HINT)};
    }

private:
    std::string field(int code) const
    {
        const char *value = PQresultErrorField(result_.get(), code);
        return value == nullptr ? "" : value;
    }

    std::shared_ptr<PGresult> result_;
};

}  // namespace hipq::client
