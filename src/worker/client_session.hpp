// User code in the session of a client, where others' triggers, cursors and settings are about: what it has put off until the
// commit happens now, with the rights of whom it belongs to. Nothing of a handler's is left for the commit, which the client
// makes.
#pragma once

#include "pg/transaction.hpp"

namespace hipq::worker {

// Deferred triggers fire, until there are none, and constraints are as at the beginning of a transaction again: SET CONSTRAINTS
// of the client's is forgotten. As the current user. Raises what they raise.
void fire_deferred_triggers();

// One use of the session by a handler, in a subtransaction.
class HandlerVisit {
public:
    HandlerVisit();  // before it starts

    // After it: its deferred triggers fire, and what it leaves behind is gone: open cursors, and temporary objects, which the
    // client would otherwise meet before his own of the same name.
    void end() const;

private:
    // Object and the catalogue that it is in.
    using Objects = std::set<std::pair<Oid, Oid>>;
    static Objects temporary_objects();
    Objects clients_;
};

}  // namespace hipq::worker
