// Locks on names, held until the transaction ends: an open transaction that makes, changes or drops
// something keeps others from that name alone. No user can take them by other means.
#pragma once

#include "pg/spi.hpp"

namespace hipq::catalog {

// Waits for whoever else has it, as long as lock_timeout allows. Needs a transaction.
void lock_queue_name(std::string_view name);
void lock_table_name(std::string_view name);
void lock_schedule_name(int queue_id, std::string_view name);

// For what goes through all that a role has set up: one transaction of the role at a time. Waits
// likewise.
void lock_set_up(Oid role);

// For what can be changed by one transaction at a time, whosever queue it is about: the partitions
// of hipq.job, the rights on hipq's schema, and what is set up of an instance with shards. Whoever
// needs several locks them in this order. Each waits for 5 s; then it raises 55P03, which names the
// process that has it. Needs a transaction.
void lock_partitions();
void lock_schema_rights();
void lock_set_up_of_shards(std::string_view instance);

// Whether nobody is just setting up that instance. The lock goes after others see what was set up.
// If true, catalogue() has all that any shard may have heard of until now. Needs a transaction.
bool is_set_up_settled(std::string_view instance);

}  // namespace hipq::catalog
