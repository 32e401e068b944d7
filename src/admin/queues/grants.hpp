// Rights on queues as GRANT and REVOKE on their tables, with USAGE on the schema.
//
// Functions and views check their caller's rights themselves: every role that may use the schema
// may call them (sql/install/rights.sql).
#pragma once

#include "catalog/cache.hpp"
#include "catalog/rights.hpp"

namespace hipq::admin {

// Grants a role one privilege on a queue, and USAGE on the schema. Needs a transaction.
void give_privilege(const catalog::Queue &queue, Oid role, catalog::Privilege privilege);

// Revokes it, and USAGE with the last right that the role itself has.
void take_privilege(const catalog::Queue &queue, Oid role, catalog::Privilege privilege);

// The rights of a queue owner: all privileges.
void give_ownership(const catalog::Queue &queue, Oid role);
void take_ownership(const catalog::Queue &queue, Oid role);

// Returns the roles with rights on a queue. The second function revokes USAGE from the roles among
// them that have no right left when the queue is gone.
std::vector<Oid> holders_of_rights(const catalog::Queue &queue);
void take_needless_schema(const std::vector<Oid> &roles);

}  // namespace hipq::admin
