// Calls other servers by dblink, without blocking: dblink() itself cannot be interrupted before
// PostgreSQL 17.
//
// A named connection belongs to the session, and every role that may call dblink may use it, with
// the rights that hipq has on the other server. So it is always closed; if that fails, the session
// ends.
#include "nodes/dblink.hpp"

#include "pg/quote.hpp"
#include "pg/subtransaction.hpp"
#include "pg/transaction.hpp"

#include <csignal>

extern "C" {
#include "utils/timeout.h"
}

extern "C" void hipq_connect_is_late();

namespace hipq::nodes {

namespace {

constexpr const char *connection_name = "hipq_call_by_id";
constexpr long first_pause = 1;  // ms
constexpr long longest_pause = 10;
constexpr const char *get_result = "dblink_get_result($1) AS reply (answer text)";

constinit pg::Statement select_schema(R"(
    SELECT place.nspname
    FROM pg_catalog.pg_extension AS extension
    JOIN pg_catalog.pg_namespace AS place ON place.oid = extension.extnamespace
    WHERE extension.extname = 'dblink')");

// ---- one connection ----

bool is_uri(const std::string &conninfo)
{
    return conninfo.starts_with("postgresql://") || conninfo.starts_with("postgres://");
}

// Before version 16 connecting cannot be interrupted; from 16 on dblink ignores this timeout, and
// ConnectLimit enforces it. A timeout in conninfo takes precedence.
std::string bounded(std::string conninfo)
{
    constexpr const char *limit = "connect_timeout=5";
    if (!is_uri(conninfo))
        return conninfo.insert(0, std::string(limit).append(" "));
    if (conninfo.find("connect_timeout=") == std::string::npos)
        conninfo.append(conninfo.find('?') == std::string::npos ? "?" : "&").append(limit);
    return conninfo;
}

// In ms. A frozen server accepts the connection and does not answer.
constexpr int longest_connect = 6'000;

volatile std::sig_atomic_t is_late = 0;

// While an object of this class exists, connecting is cancelled if it takes too long.
class ConnectLimit {
public:
    ConnectLimit()
    {
        static const TimeoutId timer =
            pg::call([] { return ::RegisterTimeout(USER_TIMEOUT, hipq_connect_is_late); });
        timer_ = timer;
        is_late = 0;
        ::enable_timeout_after(timer_, longest_connect);
    }
    ~ConnectLimit()
    {
        ::disable_timeout(timer_, false);
        if (is_late != 0)
            QueryCancelPending = false;  // in case it has not been processed yet
    }
    ConnectLimit(const ConnectLimit &) = delete;
    ConnectLimit &operator=(const ConnectLimit &) = delete;

private:
    TimeoutId timer_;
};

class Connection {
public:
    explicit Connection(std::string schema) : schema_(std::move(schema)) {}

    void open(const std::string &conninfo) const
    {
        const ConnectLimit limit;
        run("dblink_connect($1, $2)", connection_name, bounded(conninfo));
    }

    // Raises the errors of the other server.
    Answers query(const std::string &statement) const
    {
        run("dblink_send_query($1, $2)", connection_name, statement);
        long pause = first_pause;
        while (run("dblink_is_busy($1)", connection_name).front().integer(0) != 0) {
            rest(pause);
            pause = std::min(2 * pause, longest_pause);
        }
        Answers answers;
        for (const pg::Row row : run(get_result, connection_name))
            answers.push_back(row.maybe_text(0));
        // Read the end of the results, so that the next statement can be sent.
        run(get_result, connection_name);
        return answers;
    }

    // May be called for a connection that was never opened.
    void close() const
    {
        const std::uint32_t holdoff = InterruptHoldoffCount;
        InterruptHoldoffCount = holdoff + 1;  // an error would reset it to 0
        const auto failure = pg::in_subtransaction(
            pg::Ending::kept, [&] { run("dblink_disconnect($1)", connection_name); });
        InterruptHoldoffCount = holdoff;
        if (failure.has_value() && failure->sqlerrcode() != ERRCODE_CONNECTION_DOES_NOT_EXIST)
            throw *failure;
    }

private:
    template <class... Arguments>
    pg::Rows run(const char *call, const Arguments &...arguments) const
    {
        return pg::as_extension_owner([&] {
            return pg::run_once("SELECT * FROM " + pg::quote_name(schema_) + "." + call,
                                arguments...);
        });
    }
    std::string schema_;
};

void close_or_die(const Connection &connection)
{
    bool is_closed = false;
    try {
        connection.close();
        is_closed = true;
    } catch (...) {
        is_closed = false;
    }
    if (!is_closed)
        pg::call([] {
            ereport(FATAL, errcode(ERRCODE_CONNECTION_EXCEPTION),
                    errmsg("cannot close a connection to another server of hipq"));
        });
}

// ---- a session ----

struct Ending {
    bool is_connected = false;
    bool is_late = false;  // connecting has taken too long
    std::optional<pg::Error> failure;
};

// Rethrows an error that does not come from the other server: the caller was cancelled.
Ending in_session(const std::string &conninfo, const std::function<void(const Connection &)> &talk)
{
    const Connection connection(schema_of_dblink());
    Ending ending;
    is_late = 0;
    std::exception_ptr other;
    try {
        ending.failure = pg::in_subtransaction(pg::Ending::kept, [&] {
            connection.open(conninfo);
            ending.is_connected = true;
            talk(connection);
        });
    } catch (...) {
        other = std::current_exception();
    }
    close_or_die(connection);
    ending.is_late = !ending.is_connected && is_late != 0;
    if (other != nullptr && !ending.is_late)
        std::rethrow_exception(other);
    return ending;
}

// ---- errors ----

constexpr const char *no_answer = "The server accepts the connection, and does not answer.";

// Whether the error means that the other server is unreachable or shut down.
bool is_of_connection(const pg::Error &error)
{
    const std::string sqlstate = error.sqlstate();
    return sqlstate.starts_with("08") || sqlstate.starts_with("57P");
}

std::string trouble_of(const pg::Error &error)
{
    return error.message() + (error.detail().has_value() ? ": " + *error.detail() : "");
}

// Raises the error as the other server did, without its context, which shows hipq's own statements
// there.
[[noreturn]] void raise_again(const pg::Error &error, const std::string &where)
{
    const std::string detail = error.detail().value_or("");
    const std::string hint = error.hint().value_or("");
    HIPQ_RAISE(errcode(error.sqlerrcode()), errmsg("%s", error.message().c_str()),
               detail.empty() ? 0 : errdetail_internal("%s", detail.c_str()),
               hint.empty() ? 0 : errhint("%s", hint.c_str()), errcontext("%s", where.c_str()));
}

}  // namespace

std::string schema_of_dblink()
{
    const pg::Rows rows = pg::as_extension_owner([] { return select_schema.run(); });
    if (rows.empty())
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("extension \"dblink\" is not installed in this database"),
                   errhint("Run CREATE EXTENSION dblink: hipq calls the other servers of an "
                           "instance with it."));
    return rows.front().text(0);
}

// Called by a signal handler; the wait for the other server checks the flags.
static void cancel_connect()
{
    is_late = 1;
    InterruptPending = true;
    QueryCancelPending = true;
    ::SetLatch(MyLatch);
}

Reply ask(const std::string &conninfo, const std::string &statement, const std::string &where)
{
    Reply reply{true, std::nullopt, ""};
    const Ending ending = in_session(conninfo, [&](const Connection &connection) {
        const Answers answers = connection.query(statement);
        reply.answer = answers.empty() ? std::nullopt : answers.front();
    });
    if (ending.is_late)
        return {false, std::nullopt, no_answer};
    if (!ending.failure.has_value())
        return reply;
    if (is_of_connection(*ending.failure))
        return {false, std::nullopt, trouble_of(*ending.failure)};
    if (!ending.is_connected)
        throw *ending.failure;  // NOLINT(cert-err60-cpp): as it came
    raise_again(*ending.failure, where);
}

void converse(const std::string &conninfo, const std::function<void(const Query &)> &talk)
{
    const Ending ending = in_session(conninfo, [&](const Connection &connection) {
        talk([&](const std::string &statement) { return connection.query(statement); });
    });
    if (ending.is_late)
        HIPQ_RAISE(errcode(ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION),
                   errmsg("could not establish connection"), errdetail("%s", no_answer));
    if (ending.failure.has_value())
        throw *ending.failure;  // NOLINT(cert-err60-cpp): as it came
}

void rest(long milliseconds)
{
    pg::call([&] {
        (void)::WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, milliseconds,
                          PG_WAIT_EXTENSION);
        ::ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
    });
}

}  // namespace hipq::nodes

extern "C" void hipq_connect_is_late()
{
    hipq::nodes::cancel_connect();
}
