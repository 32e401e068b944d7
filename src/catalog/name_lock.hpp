// Locks on names, held until the transaction ends. An open transaction that creates, changes or
// drops an object keeps others from that name only. Users cannot take these locks in any other way.
#pragma once

#include "pg/spi.hpp"

namespace hipq::catalog {

// Each waits for other holders as long as lock_timeout allows. Needs a transaction.
void lock_queue_name(std::string_view name);
void lock_table_name(std::string_view name);
void lock_schedule_name(int queue_id, std::string_view name);

// For operations that go through everything that a role has set up: one transaction of the role at
// a time. Waits as above.
void lock_set_up(Oid role);

// For objects that only one transaction at a time can change, whichever queue it concerns: the
// partitions of hipq.job, the rights on hipq's schema, and the set-up of a sharded instance. A
// caller that needs several takes them in this order. Each waits for 5 s, then raises 55P03 with
// the name of the process that holds the lock. Needs a transaction.
void lock_partitions();
void lock_schema_rights();
void lock_set_up_of_shards(std::string_view instance);

// Whether no transaction is changing the set-up of the instance. The lock is released only after
// others can see the change, so if this returns true, catalogue() has everything that any shard may
// have learned up to now. Needs a transaction.
bool is_set_up_settled(std::string_view instance);

}  // namespace hipq::catalog
