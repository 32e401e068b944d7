// What executors of a queue owner have to do besides jobs, although nobody has it in flight: ask
// the retry handler about a job in state `error` (what the scheduler found at start or after an
// executor died), and call the handler of dead letters.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::executors {

struct Decision {
    Oid database;
    Oid role;
    int queue_id;
    std::int64_t job_id;  // 0: free; for dead letters the queue's number: one entry stands for all
                          // of a queue
    bool is_dead_letter = false;
};

// False: no room now, offer it again later.
bool offer_decision(const Decision &decision);
// Offers it when this transaction has committed; without room the scheduler searches for it.
void note_decision(const Decision &decision);
std::optional<Decision> take_decision(Oid database, Oid role);
std::optional<Decision> take_dead_letter(Oid database, Oid role);
// Whose executors have some, of either kind.
std::vector<Oid> roles_with_decisions(Oid database);

extern const memory::Part decisions_part;

// Registers the callbacks; called once by _PG_init. PostgreSQL regime.
void watch_decisions();

}  // namespace hipq::executors
