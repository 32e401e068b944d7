// User code in the session of a client, where others' triggers, cursors and settings are about.
// What it has put off until the commit happens now, with the rights of whom it belongs to: nothing
// of a handler's is left for the commit, which the client makes, nor for the session, which is the
// client's. What a handler may do there meanwhile: client_restrictions.hpp.
#pragma once

#include "execute/client_restrictions.hpp"
#include "pg/transaction.hpp"

namespace hipq::execute {

// Raises 24000 for an open cursor of the client's, which other roles' code could read by its name:
// "`what` while cursor ...".
void refuse_open_cursors(const char *what);

// Before the first handler: what the client has put off until the commit happens now, as it would
// before an executor saw the jobs. Raises what it raises; 42501 for a trigger that puts itself off
// again, 24000 for an open cursor of the client's.
void clear_the_way();

// One use of the session by a handler, in a subtransaction.
class HandlerVisit {
public:
    HandlerVisit();  // before it starts

    // After it: its deferred triggers fire, until there are none, as the current user in a
    // security-restricted operation, in which PostgreSQL lets nothing be put off anew; and what it
    // leaves behind is gone: open cursors, and temporary objects, which the client would otherwise
    // meet before his own of the same name. Raises what triggers raise, and 42501 where the
    // client's temporary objects are not as before.
    void end() const;

private:
    Visit visit_;
};

}  // namespace hipq::execute
