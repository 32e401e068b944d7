// Asks other servers by dblink, without blocking: dblink() itself cannot be interrupted before
// PostgreSQL 17.
//
// A named connection belongs to the session, and whoever may call dblink may use it, with the
// rights that hipq has on the other server. So it is closed whatever happens; if that fails the
// session ends.
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

// Before version 16 connecting cannot be interrupted, and from then on dblink does not obey this:
// ConnectLimit does. What conninfo says itself counts.
std::string bounded(std::string conninfo)
{
    constexpr const char *limit = "connect_timeout=5";
    if (!is_uri(conninfo))
        return conninfo.insert(0, std::string(limit).append(" "));
    if (conninfo.find("connect_timeout=") == std::string::npos)
        conninfo.append(conninfo.find('?') == std::string::npos ? "?" : "&").append(limit);
    return conninfo;
}

constexpr int longest_connect = 6'000;  // ms: a server that is frozen accepts, and says nothing

volatile std::sig_atomic_t is_late = 0;

// While it lives, connecting is cancelled when it takes too long.
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
            QueryCancelPending = false;  // if nobody has looked at it yet
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

    // Nothing: NULL. Raises what the other server raises.
    std::optional<std::string> query(const std::string &statement) const
    {
        run("dblink_send_query($1, $2)", connection_name, statement);
        long pause = first_pause;
        while (run("dblink_is_busy($1)", connection_name).front().integer(0) != 0) {
            rest(pause);
            pause = std::min(2 * pause, longest_pause);
        }
        const pg::Rows rows = run("dblink_get_result($1) AS reply (answer text)", connection_name);
        return rows.empty() ? std::nullopt : rows.front().maybe_text(0);
    }

    // Also of one that was never opened.
    void close() const
    {
        const std::uint32_t holdoff = InterruptHoldoffCount;
        InterruptHoldoffCount = holdoff + 1;  // an error would set it to 0
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

// ---- errors ----

// The other server is not there, or goes away.
bool is_of_connection(const pg::Error &error)
{
    const std::string sqlstate = error.sqlstate();
    return sqlstate.starts_with("08") || sqlstate.starts_with("57P");
}

std::string trouble_of(const pg::Error &error)
{
    return error.message() + (error.detail().has_value() ? ": " + *error.detail() : "");
}

// As the other server has raised it. Its context tells of what hipq itself does there.
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

// A signal handler's part: the wait for the other server looks at it.
static void cancel_connect()
{
    is_late = 1;
    InterruptPending = true;
    QueryCancelPending = true;
    ::SetLatch(MyLatch);
}

Reply ask(const std::string &conninfo, const std::string &statement, const std::string &where)
{
    const Connection connection(schema_of_dblink());
    Reply reply{true, std::nullopt, ""};
    bool is_sent = false;
    is_late = 0;
    std::optional<pg::Error> failure;
    std::exception_ptr other;
    try {
        failure = pg::in_subtransaction(pg::Ending::kept, [&] {
            connection.open(conninfo);
            is_sent = true;
            reply.answer = connection.query(statement);
        });
    } catch (...) {
        other = std::current_exception();
    }
    close_or_die(connection);
    if (!is_sent && is_late != 0)
        return {false, std::nullopt, "it does not answer"};
    if (other != nullptr)
        std::rethrow_exception(other);
    if (!failure.has_value())
        return reply;
    if (is_of_connection(*failure))
        return {false, std::nullopt, trouble_of(*failure)};
    if (!is_sent)
        throw *failure;  // NOLINT(cert-err60-cpp): as it came
    raise_again(*failure, where);
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
