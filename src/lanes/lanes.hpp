// What waits, by lane, and who has which job in flight, with the capacity that running jobs take
// under limits. What other rooms may use.
#pragma once

#include "lanes/capacity.hpp"
#include "lanes/holders.hpp"
#include "lanes/in_flight.hpp"
#include "lanes/lane_table.hpp"
#include "lanes/node_shares.hpp"
#include "lanes/run_times.hpp"
