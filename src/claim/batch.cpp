// Keeps the rows that other sessions hold, and when to try them again.
#include "catalog/cache.hpp"
#include "claim/claim.hpp"

namespace hipq::claim {

namespace {

constexpr std::int64_t first_delay = 100'000;  // us
constexpr std::int64_t longest_delay = core::longest_hold;
constexpr std::int64_t forgotten_after = 60'000'000;

}  // namespace

Prefetched batch_of(const catalog::Queue &queue, const catalog::JobType &type,
                    std::size_t batch_size)
{
    Prefetched batch{queue.id, type.name, batch_size, {}};
    batch.paused_keys = queue.paused_keys(type.name);
    return batch;
}

bool HeldRows::is_held(std::int64_t job_id, pg::Time now) const
{
    return until(job_id) > now;
}

pg::Time HeldRows::until(std::int64_t job_id) const
{
    const auto found = rows_.find(job_id);
    return found == rows_.end() ? pg::Time{0} : found->second.not_before;
}

pg::Time HeldRows::note(std::int64_t job_id, pg::Time now)
{
    const auto found = rows_.find(job_id);
    const std::int64_t delay =
        found == rows_.end() ? first_delay : std::min(found->second.delay * 2, longest_delay);
    rows_[job_id] = Held{now + delay, delay};
    return now + delay;
}

pg::Time HeldRows::next_try(pg::Time now)
{
    std::erase_if(rows_,
                  [&](const auto &row) { return row.second.not_before + forgotten_after < now; });
    pg::Time next = pg::infinity;
    for (const auto &row : rows_)
        if (row.second.not_before > now)
            next = std::min(next, row.second.not_before);
    return next;
}

}  // namespace hipq::claim
