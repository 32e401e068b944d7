// What a transaction asks of executors: to cancel jobs that they have in flight, once it commits.
#pragma once

#include <cstdint>
#include <string>

#include "shared/executors/stop_control.hpp"

namespace hipq::executors {

enum class AskWhen : unsigned char {
    now,
    // Of this transaction: a rolled back one, or savepoint, asks for nothing. The answer is how the
    // job stands now; one that has ended by the commit ends in its own way.
    at_commit,
};

// Asks for the cancellation of a job of this database that an executor has in flight. Of `error`
// what fits is kept, in whole characters.
CancelAnswer ask_for_cancellation(std::int64_t job_id, const std::string &error, AskWhen when);

// Registers the callbacks; called once by _PG_init. PostgreSQL regime.
void watch_cancellations();

}  // namespace hipq::executors
