// The connection of a session; its requests and its live figures take turns.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>

#include "database/connection.hpp"

namespace hipq::web {

class Link {
public:
    using Connect = std::function<std::unique_ptr<Connection>()>;

    // For a role that signed in: its password is not kept, so a lost connection stays lost.
    explicit Link(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
    // For the service: connects at its first use, and again after a loss.
    explicit Link(Connect connect) : connect_(std::move(connect)) {}

    // Throws DatabaseError; also ConnectionLost, if the connection was lost before.
    std::string rows(const std::string &statement, const Parameters &parameters = {})
    {
        return with([&](Connection &connection) { return connection.rows(statement, parameters); });
    }
    Result run(const std::string &statement, const Parameters &parameters = {})
    {
        return with([&](Connection &connection) { return connection.run(statement, parameters); });
    }

    bool is_lost() const { return is_lost_; }

private:
    template <class Use>
    auto with(Use use) -> decltype(use(std::declval<Connection &>()))
    {
        const std::lock_guard lock(mutex_);
        const bool was_there = connection_ != nullptr;
        try {
            return use(present());
        } catch (const ConnectionLost &) {
            connection_.reset();
            if (!connect_) {
                is_lost_ = true;
                throw;
            }
            if (!was_there)
                throw;
        }
        // The server may have restarted meanwhile. The service only reads: it can repeat the query.
        return use(present());
    }

    Connection &present()
    {
        if (!connection_ && !connect_)
            throw ConnectionLost("the connection to the server was lost", "08003");
        if (!connection_)
            connection_ = connect_();
        return *connection_;
    }

    std::mutex mutex_;
    std::unique_ptr<Connection> connection_;
    Connect connect_;
    std::atomic<bool> is_lost_{false};
};

}  // namespace hipq::web
