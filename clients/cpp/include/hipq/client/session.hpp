// A connection to the server that never blocks and reconnects: statements wait for it, and are sent
// again if this is allowed.
#pragma once

#include "hipq/client/loop.hpp"
#include "hipq/client/result.hpp"
#include "hipq/client/statement.hpp"

#include <deque>
#include <random>

namespace hipq::client {

// The outcome of a statement: rows, or an error.
struct Reply {
    Result rows;
    std::shared_ptr<const Error> error;
    explicit operator bool() const { return error == nullptr; }
};

using Done = std::function<void(const Reply &)>;

// What to do with a statement whose connection is lost before its answer, or that the server cannot
// do now. A statement may be sent again only if a second execution does no harm.
enum class Lost { is_sent_again, is_an_error };

struct SessionOptions {
    std::string conninfo;  // as for Connection
    std::string application_name;
    // Called with each new connection: what it sends by send_first() goes before everything else.
    std::function<void()> on_connect = [] {};
    std::function<void(const std::string &why)> on_lost = [](const std::string &) {};
    std::function<void()> on_notification = [] {};
    // The time limit for connecting and for an answer; a broken network may give no error.
    Loop::Milliseconds connect_timeout{10'000};
    Loop::Milliseconds reply_timeout{30'000};
};

class Session {
public:
    Session(Loop &loop, SessionOptions options) : loop_(loop), options_(std::move(options)) {}
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;
    ~Session() { close(); }

    // Connects, and reconnects after each loss, until close().
    void open()
    {
        is_closed_ = false;
        connect();
    }
    void close()
    {
        is_closed_ = true;
        drop_connection();
        loop_.cancel(pause_timer_);
        loop_.cancel(again_timer_);
    }

    // Runs a statement in its own transaction, after the statements that were sent before.
    void send(Statement statement, Lost lost, Done done)
    {
        waiting_.push_back({std::move(statement), lost, std::move(done)});
        send_next();
    }
    // For on_connect and the calls that follow from it.
    void send_first(Statement statement, Done done)
    {
        first_.push_back({std::move(statement), Lost::is_an_error, std::move(done)});
        send_next();
    }

    // Drops this connection and makes another one, after a pause.
    void lose(const std::string &why)
    {
        if (connection_ == nullptr || is_closed_)
            return;
        const std::optional<Sent> unanswered = std::exchange(in_flight_, std::nullopt);
        const bool was_first = std::exchange(is_first_in_flight_, false);
        drop_connection();
        first_.clear();
        pause_timer_ = loop_.after(next_pause(), [this] { connect(); });
        options_.on_lost(why);
        if (!unanswered || was_first)
            return;
        if (unanswered->lost == Lost::is_sent_again)
            waiting_.push_front(*unanswered);
        else
            unanswered->done({{}, std::make_shared<Error>(why)});
    }

    bool is_ready() const
    {
        return state_ == State::ready && first_.empty() && !is_first_in_flight_;
    }
    bool is_idle() const { return waiting_.empty() && put_off_.empty() && !in_flight_; }
    int backend_pid() const { return PQbackendPID(connection_); }
    // Whether libpq could not even start, because it does not understand the conninfo: an unknown
    // service, for example.
    bool is_misled() const { return is_misled_; }

private:
    enum class State { away, connecting, ready };
    struct Sent {
        Statement statement;
        Lost lost;
        Done done;
    };

    // ---- connecting

    void connect()
    {
        // A later keyword has precedence: the conninfo overrides our own values.
        std::vector<const char *> keywords{"fallback_application_name", "keepalives_idle",
                                           "keepalives_interval",       "keepalives_count",
                                           "client_encoding",           "dbname"};
        std::vector<const char *> values{options_.application_name.c_str(), "10", "5", "3", "UTF8",
                                         options_.conninfo.c_str()};
        for (const auto &[keyword, value] : servers_) {
            keywords.push_back(keyword.c_str());
            values.push_back(value.c_str());
        }
        keywords.push_back(nullptr);
        values.push_back(nullptr);
        state_ = State::connecting;
        connection_ = PQconnectStartParams(keywords.data(), values.data(), 1);
        if (connection_ == nullptr)
            throw std::bad_alloc();
        reply_timer_ = loop_.after(options_.connect_timeout, [this] {
            begin_with_the_next();
            lose("the server did not answer in time");
        });
        if (PQstatus(connection_) == CONNECTION_BAD) {
            const char *user = PQuser(connection_);
            is_misled_ = user == nullptr || *user == '\0';
            lose(PQerrorMessage(connection_));
            return;
        }
        watch_socket(POLLOUT);
    }

    // Of several servers libpq takes the first one that answers, but it keeps waiting for one that
    // does not. So the next time this one is the last.
    void begin_with_the_next()
    {
        const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption *)> all(
            PQconninfo(connection_), PQconninfoFree);
        for (const PQconninfoOption *option = all.get(); option && option->keyword; ++option) {
            const std::string keyword = option->keyword;
            const std::string list = option->val != nullptr ? option->val : "";
            const std::size_t comma = list.find(',');
            if (comma != std::string::npos &&
                (keyword == "host" || keyword == "hostaddr" || keyword == "port"))
                servers_[keyword] = list.substr(comma + 1) + "," + list.substr(0, comma);
        }
    }

    void go_on_connecting()
    {
        // libpq may close its socket and open another one.
        loop_.forget(socket_);
        switch (PQconnectPoll(connection_)) {
        case PGRES_POLLING_READING:
            return watch_socket(POLLIN);
        case PGRES_POLLING_WRITING:
            return watch_socket(POLLOUT);
        case PGRES_POLLING_OK:
            return begin();
        default:
            return lose(PQerrorMessage(connection_));
        }
    }

    void begin()
    {
        loop_.cancel(reply_timer_);
        PQsetnonblocking(connection_, 1);
        // Notices are for users.
        PQsetNoticeProcessor(
            connection_, [](void *, const char *) {}, nullptr);
        state_ = State::ready;
        watch_socket(POLLIN);
        options_.on_connect();
        send_next();
    }

    // Doubles from 50 ms to 5 s, with a random part, so that clients do not all reconnect at once.
    Loop::Milliseconds next_pause()
    {
        pause_ = std::min(pause_ * 2, Loop::Milliseconds(5'000));
        return Loop::Milliseconds(
            std::uniform_int_distribution<long>(pause_.count() / 2, pause_.count())(random_));
    }

    void drop_connection()
    {
        if (connection_ == nullptr)
            return;
        loop_.forget(socket_);
        loop_.cancel(reply_timer_);
        PQfinish(std::exchange(connection_, nullptr));
        state_ = State::away;
        socket_ = -1;
    }

    void watch_socket(short events)
    {
        socket_ = PQsocket(connection_);
        loop_.watch(socket_, events, [this](short) {
            if (state_ == State::connecting)
                go_on_connecting();
            else
                read_answers();
        });
    }

    // ---- statements

    void send_next()
    {
        if (state_ != State::ready || in_flight_)
            return;
        is_first_in_flight_ = !first_.empty();
        std::deque<Sent> &queue = is_first_in_flight_ ? first_ : waiting_;
        if (queue.empty())
            return;
        in_flight_ = std::move(queue.front());
        queue.pop_front();
        answer_ = Result();
        std::vector<const char *> values;
        for (const Value &value : in_flight_->statement.values)
            values.push_back(value ? value->c_str() : nullptr);
        if (PQsendQueryParams(connection_, in_flight_->statement.text.c_str(),
                              static_cast<int>(values.size()), nullptr, values.data(), nullptr,
                              nullptr, 0) == 0)
            return lose(PQerrorMessage(connection_));
        reply_timer_ = loop_.after(options_.reply_timeout,
                                   [this] { lose("the server did not answer in time"); });
        flush();
    }

    void flush()
    {
        const int left = PQflush(connection_);
        if (left < 0)
            lose(PQerrorMessage(connection_));
        else
            watch_socket(static_cast<short>(left > 0 ? POLLIN | POLLOUT : POLLIN));
    }

    void read_answers()
    {
        if (PQconsumeInput(connection_) == 0)
            return lose(PQerrorMessage(connection_));
        take_notifications();
        while (in_flight_ && PQisBusy(connection_) == 0) {
            PGresult *result = PQgetResult(connection_);
            if (result == nullptr)
                return finish();
            answer_ = Result(result);
        }
        if (connection_ != nullptr && in_flight_)
            flush();
    }

    void take_notifications()
    {
        bool has_some = false;
        while (PGnotify *notification = PQnotifies(connection_)) {
            has_some = true;
            PQfreemem(notification);
        }
        if (has_some)
            options_.on_notification();
    }

    // The statement in flight has been answered.
    void finish()
    {
        loop_.cancel(reply_timer_);
        Reply reply{answer_, nullptr};
        if (answer_.is_error())
            reply.error = std::make_shared<Error>(answer_.error());
        if (reply.error &&
            (sqlstate::connection_is_lost(*reply.error) || PQstatus(connection_) == CONNECTION_BAD))
            return lose(reply.error->what());
        const Sent answered = std::move(*in_flight_);
        in_flight_.reset();
        const bool was_first = std::exchange(is_first_in_flight_, false);
        if (was_first && first_.empty())
            pause_ = first_pause;
        PGconn *const connection = connection_;
        if (reply.error && answered.lost == Lost::is_sent_again && sqlstate::may_pass(*reply.error))
            put_off(answered);
        else
            answered.done(reply);
        if (connection_ != connection)
            return;
        // Data that came with the answer is already read, and causes no further event.
        take_notifications();
        send_next();
    }

    void put_off(const Sent &statement)
    {
        put_off_.push_back(statement);
        loop_.cancel(again_timer_);
        again_timer_ = loop_.after(again_pause, [this] {
            waiting_.insert(waiting_.begin(), put_off_.begin(), put_off_.end());
            put_off_.clear();
            send_next();
        });
    }

    static constexpr Loop::Milliseconds first_pause{50};
    static constexpr Loop::Milliseconds again_pause{500};

    Loop &loop_;
    SessionOptions options_;
    State state_ = State::away;
    PGconn *connection_ = nullptr;
    int socket_ = -1;
    bool is_closed_ = true;
    bool is_misled_ = false;
    std::map<std::string, std::string> servers_;  // replaces the servers of the conninfo
    std::deque<Sent> first_;
    std::deque<Sent> waiting_;
    std::deque<Sent> put_off_;
    std::optional<Sent> in_flight_;
    bool is_first_in_flight_ = false;
    Result answer_;
    Loop::Timer pause_timer_;
    Loop::Timer reply_timer_;
    Loop::Timer again_timer_;
    Loop::Milliseconds pause_ = first_pause;
    std::minstd_rand random_{std::random_device()()};
};

}  // namespace hipq::client
