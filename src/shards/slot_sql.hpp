// The slot of a job's id, in SQL.
#pragma once

#include "core/shards/ids.hpp"

static_assert(hipq::core::first_id == 2'199'023'255'552 && hipq::core::slot_count == 4096);

// As in core/shards/ids.hpp: all plain ids belong to slot 0, the router's.
#define HIPQ_SLOT_OF(id) "CASE WHEN " id " < 2199023255552 THEN 0 ELSE (" id " & 4095)::integer END"
