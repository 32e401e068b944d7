// Prepared transactions whose end no session of hipq's sees.
#pragma once

namespace hipq::server {

// What the launcher keeps of them.
struct PreparedWatch {
    bool has_begun = false;
    std::map<Oid, unsigned> seen;  // databases::list_prepares() at the last look
    std::map<TransactionId, Oid>
        open;  // those that were there then, and may have something for hipq in them
    pg::Time next_look{0};
};

// Has the databases looked at in which one has ended, within a second of that. The first call takes
// all that are there for such with jobs: the server may have been down. Returns in how many
// microseconds to call again; nobody prepares: never.
std::int64_t watch_prepared(PreparedWatch &watch);

}  // namespace hipq::server
