// The connection: made when it is needed, and again when it was lost.
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
    // Keywords of libpq and their values; what is left out say its environment and service file.
    using Parts = std::vector<std::pair<std::string, std::string>>;
    explicit Database(Parts parts) : parts_(std::move(parts)) {}

    // Runs a statement in a transaction of its own. It never throws: the answer says what is wrong.
    // Waits no longer than some seconds, whatever became of server and network.
    Answer ask(const Statement &statement);

    // The server wants a password that nobody has given.
    bool needs_password() const { return needs_password_; }
    void set_password(const std::string &password) { parts_.emplace_back("password", password); }

    // Where it is connected, in words; of the last connection there was.
    const std::string &where() const { return where_; }
    bool is_connected() const { return connection_ != nullptr; }

private:
    struct Finish {
        void operator()(PGconn *connection) const { PQfinish(connection); }
    };

    Answer connect();
    Answer prepare();
    Answer send(const Statement &statement);
    Answer lose(const std::string &why);
    bool wait_for_answer();

    Parts parts_;
    std::unique_ptr<PGconn, Finish> connection_;
    std::string where_;
    bool needs_password_ = false;
};

}  // namespace hipq::top
