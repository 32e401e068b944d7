// A blocking connection for programs that enqueue; and statements on any libpq connection.
#pragma once

#include "hipq/client/result.hpp"
#include "hipq/client/statement.hpp"

namespace hipq::client {

// Runs a statement in the open transaction of the connection. Throws Error.
inline Result run(PGconn *connection, const Statement &statement)
{
    std::vector<const char *> values;
    for (const Value &value : statement.values)
        values.push_back(value ? value->c_str() : nullptr);
    Result result(PQexecParams(connection, statement.text.c_str(), static_cast<int>(values.size()),
                               nullptr, values.data(), nullptr, nullptr, 0));
    if (result.is_error())
        throw result.error();
    return result;
}

// Where to connect: a URI, or "host=... dbname=... service=..."; PGHOST, PGSERVICE and the like
// supply the rest.
class Connection {
public:
    explicit Connection(const std::string &conninfo = "")
        : connection_(PQconnectdb(conninfo.c_str()), PQfinish)
    {
        if (PQstatus(connection_.get()) != CONNECTION_OK)
            throw Error(PQerrorMessage(connection_.get()));
    }

    operator PGconn *() const { return connection_.get(); }
    Result execute(const std::string &text, std::vector<Value> values = {}) const
    {
        return run(connection_.get(), {text, std::move(values)});
    }

private:
    std::unique_ptr<PGconn, void (*)(PGconn *)> connection_;
};

// A transaction of a connection; rolls back unless it is committed.
class Transaction {
public:
    explicit Transaction(PGconn *connection) : connection_(connection)
    {
        run(connection_, {"BEGIN", {}});
    }
    Transaction(const Transaction &) = delete;
    Transaction &operator=(const Transaction &) = delete;
    ~Transaction()
    {
        if (!is_committed_)
            PQclear(PQexec(connection_, "ROLLBACK"));
    }
    void commit()
    {
        is_committed_ = true;
        // After an error the server answers COMMIT with ROLLBACK.
        Result result(PQexec(connection_, "COMMIT"));
        if (result.is_error())
            throw result.error();
        if (std::string_view(result.tag()) != "COMMIT")
            throw Error("the transaction was rolled back, as a statement in it had failed",
                        "40000");
    }

private:
    PGconn *connection_;
    bool is_committed_ = false;
};

}  // namespace hipq::client
