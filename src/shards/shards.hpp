// One instance over several servers. Declares what other rooms may use.
#pragma once

#include "shards/alive.hpp"
#include "shards/end_of_sending.hpp"
#include "shards/incoming_slots.hpp"
#include "shards/permits/node_permits.hpp"
#include "shards/return_jobs.hpp"
#include "shards/send_stats.hpp"
