// Work for the executors of a queue owner other than claiming jobs: asking the retry handler about
// a job in state `error`, which the scheduler found at start or after an executor died, and calling
// the handler of dead letters. No process has these jobs in flight.
#pragma once

#include "shared/memory/registry.hpp"

namespace hipq::executors {

struct Decision {
    Oid database;
    Oid role;
    int queue_id;
    std::int64_t job_id;  // 0: free; for dead letters the queue's number, as one entry stands for
                          // all dead letters of a queue
    bool is_dead_letter = false;
};

// Offers a decision to the executors. Returns false if there is no room now; offer it again later.
bool offer_decision(const Decision &decision);
// Offers the decision when this transaction has committed. If there is no room, the scheduler
// searches for it.
void note_decision(const Decision &decision);
std::optional<Decision> take_decision(Oid database, Oid role);
std::optional<Decision> take_dead_letter(Oid database, Oid role);
// The queue owners for whom there are decisions, of either kind.
std::vector<Oid> roles_with_decisions(Oid database);

extern const memory::Part decisions_part;

// Registers the callbacks. _PG_init calls it once; call inside pg::call() only.
void watch_decisions();

}  // namespace hipq::executors
