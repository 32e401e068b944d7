// The tables of queues: made, cut into leaves by time, changed under locks that nobody waits for.
// What other rooms may use.
#pragma once

#include "tables/leaf_requests.hpp"
#include "tables/left_table.hpp"
#include "tables/make_leaf.hpp"
#include "tables/queue_table.hpp"
#include "tables/time_tree.hpp"
#include "tables/try_lock.hpp"
