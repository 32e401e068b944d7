// The interface of this room: creates the tables of queues, partitions them by time, and changes
// them under locks that no process waits for.
#pragma once

#include "tables/leaf_requests.hpp"
#include "tables/left_table.hpp"
#include "tables/make_leaf.hpp"
#include "tables/queue_table.hpp"
#include "tables/time_tree.hpp"
#include "tables/try_lock.hpp"
