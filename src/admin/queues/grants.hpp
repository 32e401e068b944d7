// Rights on queues as GRANT and REVOKE on their tables, with USAGE on the schema.
//
// Functions and views check inside what their caller may do: whoever may use the schema may call
// them (sql/install/rights.sql).
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::admin {

// Gives a role one privilege on a queue, and USAGE on the schema. Needs a transaction.
void give_privilege(const catalog::Queue &queue, Oid role, catalog::Privilege privilege);

// Takes it back, and USAGE with the last right that the role itself has.
void take_privilege(const catalog::Queue &queue, Oid role, catalog::Privilege privilege);

// What a queue owner has: the four privileges.
void give_ownership(const catalog::Queue &queue, Oid role);
void take_ownership(const catalog::Queue &queue, Oid role);

// Who has rights on a queue; and taking USAGE from those of them who have none left when it is
// gone.
std::vector<Oid> holders_of_rights(const catalog::Queue &queue);
void take_needless_schema(const std::vector<Oid> &roles);

}  // namespace hipq::admin
