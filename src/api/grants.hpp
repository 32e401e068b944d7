// Rights on queues as GRANT and REVOKE on their tables.
#pragma once

#include "storage/rights.hpp"

namespace hipq::api {

// Gives a role one privilege on a queue: on its tables, and on the functions and views that go with it. Needs a transaction.
void give_privilege(const storage::Queue &queue, Oid role, storage::Privilege privilege);

// Takes the table's part back. Functions, views and the schema stay: they give nothing by themselves.
void take_privilege(const storage::Queue &queue, Oid role, storage::Privilege privilege);

// What a queue owner has: the four privileges and the functions that manage a queue.
void give_ownership(const storage::Queue &queue, Oid role);
void take_ownership(const storage::Queue &queue, Oid role);

}  // namespace hipq::api
