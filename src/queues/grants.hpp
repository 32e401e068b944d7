// Rights on queues as GRANT and REVOKE on their tables.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::queues {

// Gives a role one privilege on a queue: on its tables, and on the functions and views that go with
// it. Needs a transaction.
void give_privilege(const catalog::Queue &queue, Oid role, catalog::Privilege privilege);

// Takes it back, with the functions, the views and the schema, as far as no other right of that
// role on a queue needs them.
void take_privilege(const catalog::Queue &queue, Oid role, catalog::Privilege privilege);

// What a queue owner has: the four privileges and the functions that manage a queue.
void give_ownership(const catalog::Queue &queue, Oid role);
void take_ownership(const catalog::Queue &queue, Oid role);

// Who has rights on a queue; and taking from them, when it is gone, what came with it.
std::vector<Oid> holders_of_rights(const catalog::Queue &queue);
void take_what_came_with_queues(const std::vector<Oid> &roles);

}  // namespace hipq::queues
