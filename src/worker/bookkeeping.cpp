// Tries, and what follows when they were in vain.
#include "bookkeeping.hpp"

#include "pg/clock.hpp"

namespace hipq::worker {

std::optional<pg::Error> set_aside(const storage::Queue &queue, const storage::ClaimedJob &job, const storage::Failure &failure,
                                   const pg::Error &trouble)
{
    bool is_aside = false;
    auto refusal = try_to_write([&] { is_aside = storage::set_aside(queue, job, failure, trouble, pg::now()); });
    if (!refusal.has_value() && is_aside)
        storage::report_set_aside(queue, job.id, trouble);
    return refusal;
}

}  // namespace hipq::worker
