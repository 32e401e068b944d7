// The connection: made when needed, and again after a loss.
#include "model/database.hpp"

#include "extension.hpp"

#include <cerrno>
#include <chrono>
#include <poll.h>

namespace hipq::top {

namespace {

using Clock = std::chrono::steady_clock;

// Longer than the statement_timeout of the session: after this time there is no server, or no
// network.
constexpr std::chrono::seconds longest_answer{10};
constexpr const char *connect_timeout = "5";

std::string first_line(std::string text)
{
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    for (char &c : text)
        if (c == '\n' || c == '\t')
            c = ' ';
    return text;
}

std::string field(const PGresult *result, int code)
{
    const char *value = PQresultErrorField(result, code);
    return value == nullptr ? "" : value;
}

Rows rows_of(const PGresult *result)
{
    Rows rows;
    const int columns = PQnfields(result);
    for (int column = 0; column < columns; ++column)
        rows.names.emplace_back(PQfname(result, column));
    for (int row = 0; row < PQntuples(result); ++row) {
        std::vector<Value> &values = rows.rows.emplace_back();
        for (int column = 0; column < columns; ++column)
            if (PQgetisnull(result, row, column) != 0)
                values.emplace_back();
            else
                values.emplace_back(
                    std::string(PQgetvalue(result, row, column),
                                static_cast<std::size_t>(PQgetlength(result, row, column))));
    }
    return rows;
}

Answer answer_of(const PGresult *result)
{
    const ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
        return {rows_of(result), "", "", "", false};
    const std::string message = field(result, PG_DIAG_MESSAGE_PRIMARY);
    const std::string detail = field(result, PG_DIAG_MESSAGE_DETAIL);
    return {{},
            message.empty() ? first_line(PQresultErrorMessage(result))
                            : message + (detail.empty() ? "" : ": " + detail),
            field(result, PG_DIAG_MESSAGE_HINT),
            field(result, PG_DIAG_SQLSTATE),
            false};
}

}  // namespace

Answer Database::ask(const Statement &statement)
{
    if (connection_ == nullptr)
        if (Answer answer = connect(); !answer)
            return answer;
    return send(statement);
}

Answer Database::connect()
{
    // A later keyword has precedence: the user's values come after the defaults.
    std::vector<const char *> keywords{"fallback_application_name", "connect_timeout",
                                       "keepalives_idle", "client_encoding"};
    std::vector<const char *> values{"hipq-top", connect_timeout, "10", "UTF8"};
    for (const auto &[keyword, value] : parts_) {
        keywords.push_back(keyword.c_str());
        values.push_back(value.c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    connection_.reset(PQconnectdbParams(keywords.data(), values.data(), 1));
    if (PQstatus(connection_.get()) != CONNECTION_OK) {
        needs_password_ = PQconnectionNeedsPassword(connection_.get()) != 0;
        return lose(PQerrorMessage(connection_.get()));
    }
    is_0_3_ = false;
    PQsetNoticeProcessor(
        connection_.get(), [](void *, const char *) {}, nullptr);
    return prepare();
}

Answer Database::prepare()
{
    if (Answer answer = send(statements::prepare_session()); !answer)
        return answer.is_lost ? answer : lose(answer.error);
    Answer answer = send(statements::settings());
    if (!answer)
        return answer.is_lost ? answer : lose(answer.error);
    const std::string host = PQhost(connection_.get()) == nullptr ? "" : PQhost(connection_.get());
    const std::string database = answer.rows.text(0, "database");
    where_ = answer.rows.text(0, "role") + "@" + database +
             (host.empty() || host.front() == '/' ? "" : " on " + host) + "  PostgreSQL " +
             answer.rows.text(0, "server");
    if (answer.rows.text(0, "hipq").empty())
        return lose("hipq is not installed in database \"" + database +
                    "\": name another one, or run CREATE EXTENSION hipq there");
    where_ += "  hipq " + answer.rows.text(0, "hipq");
    return answer;
}

// An older extension may be updated meanwhile.
bool Database::is_0_3()
{
    if (!is_0_3_)
        is_0_3_ = send_text(program::is_0_3, {}).rows.is_true(0, "is_0_3");
    return is_0_3_;
}

// Sends it with its texts for the extension.
Answer Database::send(const Statement &statement)
{
    if (!program::has_choices(statement.text))
        return send_text(statement.text, statement.values);
    const bool has_0_3 = is_0_3();
    if (connection_ == nullptr)
        return lose("the connection to the server was lost");
    return send_text(program::with_choices(statement.text, has_0_3), statement.values);
}

Answer Database::send_text(const std::string &text, const std::vector<client::Value> &given)
{
    std::vector<const char *> values;
    values.reserve(given.size());
    for (const client::Value &value : given)
        values.push_back(value ? value->c_str() : nullptr);
    if (PQsendQueryParams(connection_.get(), text.c_str(), static_cast<int>(values.size()), nullptr,
                          values.data(), nullptr, nullptr, 0) == 0)
        return lose(PQerrorMessage(connection_.get()));
    Answer answer;
    while (true) {
        if (!wait_for_answer())
            return lose(PQstatus(connection_.get()) == CONNECTION_OK
                            ? "the server has not answered for 10 s"
                            : PQerrorMessage(connection_.get()));
        const std::unique_ptr<PGresult, void (*)(PGresult *)> result(PQgetResult(connection_.get()),
                                                                     PQclear);
        if (result == nullptr)
            break;
        answer = answer_of(result.get());
    }
    if (PQstatus(connection_.get()) != CONNECTION_OK)
        return lose(answer.error.empty() ? PQerrorMessage(connection_.get()) : answer.error);
    return answer;
}

// Whether PQgetResult() can return without waiting.
bool Database::wait_for_answer()
{
    const Clock::time_point end = Clock::now() + longest_answer;
    while (PQisBusy(connection_.get()) != 0) {
        const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
        pollfd socket{PQsocket(connection_.get()), POLLIN, 0};
        if (rest.count() <= 0)
            return false;
        if (::poll(&socket, 1, static_cast<int>(rest.count())) < 0 && errno != EINTR)
            return false;
        if (PQconsumeInput(connection_.get()) == 0)
            return false;
    }
    return true;
}

Answer Database::lose(const std::string &why)
{
    Answer answer{{}, first_line(why), "", "", true};
    connection_.reset();
    return answer;
}

}  // namespace hipq::top
