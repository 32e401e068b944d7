// What a transaction may not have done that is to be prepared for a two-phase commit.
//
// A prepared transaction belongs to no process and may lie for days: it may hold new jobs, which
// run after COMMIT PREPARED, but no job that was claimed or finished in it: who has that job in
// hand is known by process.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::job {

enum class NoTwoPhase : unsigned char {
    none,
    job_taken,         // a job was claimed or finished
    attempt_restored,  // a job in the middle of an attempt was loaded: the scheduler would look
                       // before COMMIT PREPARED
    worker_changed,  // a worker was registered or deregistered: it would not be known after COMMIT
                     // PREPARED
    extension_dropped,  // the workers would come back before COMMIT PREPARED
};

// Notes it until the transaction ends. Cheap; straight-line code.
void forbid_two_phase(NoTwoPhase reason);

// Called before PREPARE TRANSACTION. Raises 0A000.
void demand_two_phase();

// Registers the callback that forgets; called once by _PG_init. PostgreSQL regime.
void watch_two_phase();

}  // namespace hipq::job
