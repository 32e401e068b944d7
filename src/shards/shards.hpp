// One instance over several servers. What other rooms may use.
#pragma once

#include "shards/alive.hpp"
#include "shards/coming.hpp"
#include "shards/last_letter.hpp"
#include "shards/permits/shares.hpp"
#include "shards/return_jobs.hpp"
#include "shards/send_stats.hpp"
