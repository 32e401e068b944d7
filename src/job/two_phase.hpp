// Tracks actions after which a transaction must not be prepared for two-phase commit.
//
// A prepared transaction belongs to no process and may stay for days. It may contain new jobs,
// which run after COMMIT PREPARED. It must not contain a job that was claimed or finished, because
// hipq tracks by process which jobs are in flight.
#pragma once

#include "pg/postgres.hpp"

namespace hipq::job {

enum class NoTwoPhase : unsigned char {
    none,
    job_taken,  // a job was claimed or finished
    // A job in the middle of an attempt was loaded; the scheduler would look for it before COMMIT
    // PREPARED.
    attempt_restored,
    // A worker was registered or deregistered; that would not be known after COMMIT PREPARED.
    worker_changed,
    breaker_changed,    // a breaker was opened or closed; shared memory would not learn of it
    extension_dropped,  // the background processes would come back before COMMIT PREPARED
};

// Notes the reason until the transaction ends. Cheap; straight-line code.
void forbid_two_phase(NoTwoPhase reason);

// Called before PREPARE TRANSACTION. Raises 0A000 if a reason is noted.
void demand_two_phase();

// Registers the transaction callback. _PG_init calls it once; raises ERROR by longjmp.
void watch_two_phase();

}  // namespace hipq::job
