// A connection to PostgreSQL: runs one statement at a time and has the server write its rows as
// JSON.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace hipq::web {

// An error of the server or of libpq.
class DatabaseError : public std::runtime_error {
public:
    DatabaseError(const std::string &message, std::string state, std::string details = "",
                  std::string advice = "")
        : std::runtime_error(message), sqlstate(std::move(state)), detail(std::move(details)),
          hint(std::move(advice))
    {
    }

    std::string sqlstate;  // empty: an error of libpq
    std::string detail;
    std::string hint;
};

// The connection is lost.
class ConnectionLost : public DatabaseError {
public:
    using DatabaseError::DatabaseError;
};

// The role that connects: by default that of the connection string.
struct Credentials {
    std::string role;
    std::string password;
};

using Parameters = std::vector<std::optional<std::string>>;
using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

class Connection {
public:
    // Connects and sets up the session. Throws DatabaseError; ConnectionLost if there is no server.
    Connection(const std::string &conninfo, const Credentials &credentials, bool is_read_only);

    // Runs a statement, with its texts for the extension. Throws DatabaseError.
    Result run(const std::string &statement, const Parameters &parameters = {});

    // Runs a SELECT: returns a JSON array of its rows, each an object.
    std::string rows(const std::string &statement, const Parameters &parameters = {});

private:
    Result send(const std::string &statement, const Parameters &parameters);
    bool is_0_3();
    [[noreturn]] void raise(const PGresult *result);

    std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
    bool is_0_3_ = false;
};

}  // namespace hipq::web
