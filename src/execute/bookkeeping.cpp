// Retries hipq's own writes about a job, and sets the job aside when they keep failing.
#include "execute/bookkeeping.hpp"

#include "job/set_aside.hpp"
#include "pg/clock.hpp"

namespace hipq::execute {

std::optional<pg::Error> set_aside(const catalog::Queue &queue, const job::ClaimedJob &job,
                                   const job::Failure &failure, const pg::Error &trouble)
{
    bool is_aside = false;
    auto refusal =
        try_to_write([&] { is_aside = job::set_aside(queue, job, failure, trouble, pg::now()); });
    if (!refusal.has_value() && is_aside)
        job::report_set_aside(queue, job.id, trouble);
    return refusal;
}

}  // namespace hipq::execute
