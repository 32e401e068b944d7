// The session of an executor: the next handler sees nothing of what a handler does to it.
//
// The reset avoids searches: a separate GUC nest level undoes settings, as in a function with SET;
// the transaction knows whether temporary tables were touched. Objects that PostgreSQL keeps in
// lists of the process are dropped without a check whether there are any, because the check would
// cost more. Only the rest needs a separate transaction.
#pragma once

#include "pg/transaction.hpp"

namespace hipq::execute {

// One handler's use of the session.
class SessionUse {
public:
    // Call in the handler's transaction, before the handler starts.
    void begin();

    // Call after the handler, in its transaction (or the last of them): restores settings, role and
    // LISTEN to what they were before.
    void put_back();

    // Call after the end of that transaction, commit or abort: drops session advisory locks,
    // prepared statements, cursors and sequences' last values. If the handler had temporary tables,
    // or has committed midway, also drops temporary tables and resets everything, in a transaction
    // of its own.
    void clean();

    // Call before an abort: notes whether the handler has committed midway, so that what it left
    // outlives the abort.
    void look();

    // Whether clean() has to reset everything.
    bool is_dirty() const { return is_dirty_; }

private:
    LocalTransactionId transaction_ = InvalidLocalTransactionId;
    int settings_level_ = 0;
    bool is_dirty_ = false;
};

}  // namespace hipq::execute
