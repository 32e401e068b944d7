// What hipq writes about a job after its code has run. An error against it is no reason for the
// process to end: the job would come back, and run again and again.
#pragma once

#include "job/job.hpp"
#include "pg/error_classes.hpp"
#include "pg/transaction.hpp"

namespace hipq::execute {

// Runs `write` in a transaction of its own, a few times if need be: a deadlock, say, is over the
// next time. Returns the error that was against it to the last. Raises one that is the server's.
template <class Write>
std::optional<pg::Error> try_to_write(const Write &write)
{
    constexpr int most_tries = 3;
    std::optional<pg::Error> trouble;
    for (int tries = 0; tries < most_tries; ++tries) {
        try {
            pg::with_transaction(write);
            return std::nullopt;
        } catch (const pg::Error &error) {
            if (!pg::is_fault_of_job(error) || error.sqlerrcode() == ERRCODE_LOCK_NOT_AVAILABLE)
                throw;
            trouble = error;
        }
    }
    return trouble;
}

// Sets a job aside whose end cannot be written. Returns the error that is against that, too.
std::optional<pg::Error> set_aside(const catalog::Queue &queue, const job::ClaimedJob &job,
                                   const job::Failure &failure, const pg::Error &trouble);

}  // namespace hipq::execute
