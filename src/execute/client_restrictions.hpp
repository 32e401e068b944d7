// What a handler may not do in a client's session.
//
// In an executor the session is the handler's, and put back when it has ended. A client's holds
// things that are the client's, and that no subtransaction takes back: prepared statements, what it
// listens to, session locks, connections of dblink, open large objects. A handler there gets to
// none of them, whoever the client is.
#pragma once

#include "execute/temporary_objects.hpp"

namespace hipq::execute {

// While one lives, user code runs as the guest of a client whose temporary objects these are.
class Visit {
public:
    explicit Visit(Objects clients_objects);
    ~Visit();
    Visit(const Visit &) = delete;
    Visit &operator=(const Visit &) = delete;
    const Objects &clients_objects() const { return clients_objects_; }

private:
    Objects clients_objects_;
};

bool is_visit();

// A statement that a utility hook sees. Raises 0A000 during a visit for one that is about the
// session.
void check_utility_in_visit(const Node *statement);

// Has functions, and changes of the client's temporary objects, checked too. PostgreSQL regime;
// once per process.
void watch_visits();

}  // namespace hipq::execute
