// Errors of the server and of handlers, and the exceptions with which a handler ends its job.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace hipq::client {

// An error of the server, with its SQLSTATE; or of the connection, without one.
class Error : public std::runtime_error {
public:
    Error(const std::string &message, std::string sqlstate, std::string hint = {})
        : std::runtime_error(message), sqlstate_(std::move(sqlstate)), hint_(std::move(hint))
    {
    }
    explicit Error(const std::string &message) : Error(message, {}) {}

    const std::string &sqlstate() const { return sqlstate_; }
    const std::string &hint() const { return hint_; }

private:
    std::string sqlstate_;
    std::string hint_;
};

// A handler throws this: the job has failed, and a retry cannot help.
class Permanent : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// A handler throws this: the attempt has failed, and a retry, which is charged, waits this long.
class RetryAfter : public std::runtime_error {
public:
    explicit RetryAfter(std::string delay, const std::string &message = "retry asked for")
        : std::runtime_error(message), delay_(std::move(delay))
    {
    }
    const std::string &delay() const { return delay_; }

private:
    std::string delay_;
};

// A handler throws this: the job runs again after the delay, and no retry is charged.
class Release : public std::runtime_error {
public:
    explicit Release(std::string delay = "0")
        : std::runtime_error("the job is given back"), delay_(std::move(delay))
    {
    }
    const std::string &delay() const { return delay_; }

private:
    std::string delay_;
};

// The attempt is over: the job was cancelled, took too long, or belongs to another worker now.
class AttemptOver : public std::runtime_error {
public:
    AttemptOver(std::int64_t id, int attempt)
        : std::runtime_error("attempt " + std::to_string(attempt) + " of job " +
                             std::to_string(id) + " is over")
    {
    }
};

namespace sqlstate {

inline bool is_of_class(const Error &error, std::string_view first_two)
{
    return std::string_view(error.sqlstate()).substr(0, 2) == first_two;
}

inline bool attempt_is_over(const Error &error)
{
    return error.sqlstate() == "HQ003";
}

// True if the statement may be lost, and if the server is shutting down, has crashed or is
// starting.
inline bool connection_is_lost(const Error &error)
{
    const std::string &code = error.sqlstate();
    return code.empty() || is_of_class(error, "08") || code == "57P01" || code == "57P02" ||
           code == "57P03";
}

// Another program has taken over the worker's name, or the worker was deregistered.
inline bool worker_has_ended(const Error &error)
{
    return error.sqlstate() == "55000" || error.sqlstate() == "42704";
}

// The same statement may succeed later: the server lacks resources, is not writable yet (a standby
// before its promotion), or has rolled back one of several transactions; or a statement or a lock
// took too long.
inline bool may_pass(const Error &error)
{
    const std::string &code = error.sqlstate();
    return connection_is_lost(error) || is_of_class(error, "53") || is_of_class(error, "40") ||
           code == "25006" || code == "57014" || code == "55P03";
}

}  // namespace sqlstate

}  // namespace hipq::client
