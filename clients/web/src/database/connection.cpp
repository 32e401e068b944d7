// A connection to PostgreSQL: runs one statement at a time and has the server write its rows as
// JSON.
#include "database/connection.hpp"

#include <cstring>

#include "extension.hpp"

namespace hipq::web {

namespace {

// The settings of the session, so that it does not depend on those of the role and the database.
constexpr const char *set_up =
    "SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET IntervalStyle = 'postgres'; "
    "SET search_path = pg_catalog, pg_temp; SET statement_timeout = '5s'; SET lock_timeout = '2s'; "
    "SET client_min_messages = error; SET jit = off; SET plan_cache_mode = auto";

std::string without_newline(const char *text)
{
    std::string line = text == nullptr ? "" : text;
    while (!line.empty() && line.back() == '\n')
        line.pop_back();
    return line;
}

std::string field(const PGresult *result, int code)
{
    return without_newline(PQresultErrorField(result, code));
}

PGconn *connect(const std::string &conninfo, const Credentials &credentials)
{
    std::vector<const char *> names;
    std::vector<const char *> values;
    const auto set = [&](const char *name, const char *value) {
        names.push_back(name);
        values.push_back(value);
    };
    // A later keyword overrides the connection string.
    if (!conninfo.empty())
        set("dbname", conninfo.c_str());
    if (!credentials.role.empty()) {
        set("user", credentials.role.c_str());
        set("password", credentials.password.c_str());
        // Neither the program user's password file nor its ticket may replace the password.
        set("passfile", "/dev/null");
        set("gssencmode", "disable");
    }
    set("application_name", "hipq-web");
    set("client_encoding", "UTF8");
    set("connect_timeout", "10");
    set("tcp_user_timeout", "20000");
    set("keepalives_idle", "30");
    names.push_back(nullptr);
    values.push_back(nullptr);
    return PQconnectdbParams(names.data(), values.data(), 1);
}

// A server that requires no password (trust, peer, a certificate) would let any user be any role.
void check_password_was_asked(PGconn *connection)
{
    if (PQconnectionUsedPassword(connection) == 0)
        throw DatabaseError(
            "the server asked for no password", "28000",
            "Signing in here proves nothing while pg_hba.conf lets hipq-web connect without one.",
            "Have pg_hba.conf say scram-sha-256 for the connections of hipq-web.");
}

// libpq needs the password no more: a lost connection stays lost.
void forget_password(PGconn *connection)
{
    if (char *password = PQpass(connection); password != nullptr)
        explicit_bzero(password, std::strlen(password));
}

}  // namespace

Connection::Connection(const std::string &conninfo, const Credentials &credentials,
                       bool is_read_only)
    : connection_(connect(conninfo, credentials), PQfinish)
{
    if (PQstatus(connection_.get()) != CONNECTION_OK)
        throw ConnectionLost(without_newline(PQerrorMessage(connection_.get())), "");
    if (!credentials.role.empty()) {
        check_password_was_asked(connection_.get());
        forget_password(connection_.get());
    }
    const std::string read_only = is_read_only ? "; SET default_transaction_read_only = on" : "";
    const Result result(PQexec(connection_.get(), (set_up + read_only).c_str()), PQclear);
    if (PQresultStatus(result.get()) != PGRES_COMMAND_OK)
        raise(result.get());
}

void Connection::raise(const PGresult *result)
{
    if (PQstatus(connection_.get()) != CONNECTION_OK)
        throw ConnectionLost("the connection to the server was lost", "08006",
                             without_newline(PQerrorMessage(connection_.get())));
    throw DatabaseError(field(result, PG_DIAG_MESSAGE_PRIMARY), field(result, PG_DIAG_SQLSTATE),
                        field(result, PG_DIAG_MESSAGE_DETAIL), field(result, PG_DIAG_MESSAGE_HINT));
}

// An older extension may be updated meanwhile.
bool Connection::is_0_3()
{
    if (!is_0_3_)
        is_0_3_ = *PQgetvalue(send(program::is_0_3, {}).get(), 0, 0) == 't';
    return is_0_3_;
}

Result Connection::run(const std::string &statement, const Parameters &parameters)
{
    if (!program::has_choices(statement))
        return send(statement, parameters);
    return send(program::with_choices(statement, is_0_3()), parameters);
}

Result Connection::send(const std::string &statement, const Parameters &parameters)
{
    std::vector<const char *> values;
    for (const std::optional<std::string> &parameter : parameters)
        values.push_back(parameter ? parameter->c_str() : nullptr);
    Result result(PQexecParams(connection_.get(), statement.c_str(),
                               static_cast<int>(values.size()), nullptr, values.data(), nullptr,
                               nullptr, 0),
                  PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        raise(result.get());
    return result;
}

std::string Connection::rows(const std::string &statement, const Parameters &parameters)
{
    const Result result = run(
        "SELECT coalesce(json_agg(listed), '[]') FROM (" + statement + ") AS listed", parameters);
    return PQgetvalue(result.get(), 0, 0);
}

}  // namespace hipq::web
