// The connection: made when needed, and again after a loss.
#pragma once

#include "model/rows.hpp"
#include "model/statements.hpp"

#include <libpq-fe.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hipq::top {

class Database {
public:
    // libpq keywords and their values; libpq's environment and service file supply the rest.
    using Parts = std::vector<std::pair<std::string, std::string>>;
    explicit Database(Parts parts) : parts_(std::move(parts)) {}

    // Runs a statement in its own transaction. Never throws: the answer has the error. Waits at
    // most some seconds, whatever happens to server and network.
    Answer ask(const Statement &statement);

    // The server requires a password, and none was given.
    bool needs_password() const { return needs_password_; }
    void set_password(const std::string &password) { parts_.emplace_back("password", password); }

    // A description of the connection, or of the last one.
    const std::string &where() const { return where_; }
    bool is_connected() const { return connection_ != nullptr; }

private:
    struct Finish {
        void operator()(PGconn *connection) const { PQfinish(connection); }
    };

    Answer connect();
    Answer prepare();
    Answer send(const Statement &statement);
    Answer send_text(const std::string &text, const std::vector<client::Value> &given);
    bool is_0_3();
    Answer lose(const std::string &why);
    bool wait_for_answer();

    Parts parts_;
    std::unique_ptr<PGconn, Finish> connection_;
    std::string where_;
    bool needs_password_ = false;
    bool is_0_3_ = false;
};

}  // namespace hipq::top
