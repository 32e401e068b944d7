// The session of an executor: what a handler does to it is gone when the next one comes.
//
// Nothing is looked for that can be known: settings undo themselves with a level of their own, as
// if in a function with SET; the transaction knows whether temporary tables were touched. What
// PostgreSQL keeps in lists of the process is thrown away without asking whether there is any,
// which costs less than asking. Only the rest needs a transaction of its own.
#pragma once

#include "pg/transaction.hpp"

namespace hipq::execute {

// One handler's use of the session.
class SessionUse {
public:
    // In the handler's transaction, before it starts.
    void begin();

    // After the handler, in its transaction (or the last of them): settings, role and LISTEN are as
    // before when it commits.
    void put_back();

    // After the end of that transaction, commit or abort: session advisory locks, prepared
    // statements, cursors, sequences' last values. Temporary tables too, and all of it, in a
    // transaction of its own, if the handler had any or has committed midway.
    void clean();

    // Before an abort: whether the handler has committed midway, so that what it left outlives the
    // abort.
    void look();

private:
    LocalTransactionId transaction_ = InvalidLocalTransactionId;
    int settings_level_ = 0;
    bool is_dirty_ = false;
};

}  // namespace hipq::execute
