// Watches prepared transactions that end without a session of hipq seeing it.
#pragma once

#include "pg/clock.hpp"

#include <map>

namespace hipq::server {

// The state that the launcher keeps about them.
struct PreparedWatch {
    bool has_begun = false;
    std::map<Oid, unsigned> seen;       // databases::list_prepares() at the last look
    std::map<TransactionId, Oid> open;  // open at the last look, and possibly with jobs
    pg::Time next_look{0};
};

// Requests a look at databases in which a prepared transaction has ended, within a second of that.
// The first call treats all existing ones as having jobs, because the server may have been down.
// Returns in how many microseconds to call again: longest_wait if there are none.
std::int64_t watch_prepared(PreparedWatch &watch);

}  // namespace hipq::server
