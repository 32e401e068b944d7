// Records since when jobs of a type have waited for an external worker.
//
// The record outlives the scheduler, which may have to leave repeatedly if there are more databases
// than background workers.
#include "core/limits/fair_quota.hpp"
#include "core/limits/throttle.hpp"
#include "pg/clock.hpp"
#include "settings.hpp"
#include "shared/workers/worker_table.hpp"

namespace hipq::workers {

namespace {

// Schedulers check every 10 s. If a type was not checked for longer than this, it may have been
// served in the meantime.
constexpr std::int64_t longest_gap = 60'000'000;  // us

// Returns null if there is no entry. Needs the lock.
UnservedType *find_unserved(int queue_id, std::uint64_t job_type)
{
    UnservedType *end = std::end(worker_table().unserved);
    UnservedType *found = std::find_if(worker_table().unserved, end, [&](const UnservedType &each) {
        return each.database == MyDatabaseId && each.queue_id == queue_id &&
               each.job_type == job_type;
    });
    return found == end ? nullptr : found;
}

bool is_of_queue(const UnservedType &entry, int queue_id)
{
    return entry.database == MyDatabaseId && entry.queue_id == queue_id;
}

core::QuotaUse use_of(int queue_id)
{
    core::QuotaUse use{0, 0};
    for (const UnservedType &entry : worker_table().unserved) {
        use.all += entry.database != InvalidOid ? 1 : 0;
        use.own += is_of_queue(entry, queue_id) ? 1 : 0;
    }
    return use;
}

// Returns a free entry, or that of the type not checked for the longest time; if the queue has used
// up its share, only one of its own types. Needs the lock.
UnservedType &place_for_unserved(int queue_id)
{
    const core::Quota quota = core::table_quota(max_unserved_types, settings::max_owner_share);
    const bool has_its_share =
        !core::may_take_one(quota, use_of(queue_id)) && use_of(queue_id).own > 0;
    return *std::ranges::min_element(worker_table().unserved, {}, [&](const UnservedType &each) {
        if (has_its_share && !is_of_queue(each, queue_id))
            return std::numeric_limits<TimestampTz>::max();
        return each.database == InvalidOid ? std::numeric_limits<TimestampTz>::min() : each.seen;
    });
}

}  // namespace

pg::Time unserved_since(int queue_id, std::string_view job_type)
{
    const std::uint64_t type = core::name_hash(job_type);
    const pg::Time now = pg::now();
    const TimestampTz clock = ::GetCurrentTimestamp();
    const WorkerLock lock(LW_EXCLUSIVE);
    UnservedType *entry = find_unserved(queue_id, type);
    if (entry == nullptr || clock - entry->seen > longest_gap) {
        if (entry == nullptr)
            entry = &place_for_unserved(queue_id);
        *entry = {MyDatabaseId, queue_id, type, now, clock};
    }
    entry->since = std::min(entry->since, now);  // the clock may have been set back
    entry->seen = clock;
    return entry->since;
}

void note_served(int queue_id, std::string_view job_type) noexcept
{
    const std::uint64_t type = core::name_hash(job_type);
    const WorkerLock lock(LW_EXCLUSIVE);
    if (UnservedType *entry = find_unserved(queue_id, type))
        *entry = {};
}

void note_queue_served(int queue_id) noexcept
{
    const WorkerLock lock(LW_EXCLUSIVE);
    for (UnservedType &entry : worker_table().unserved)
        if (is_of_queue(entry, queue_id))
            entry = {};
}

void note_all_served() noexcept
{
    const WorkerLock lock(LW_EXCLUSIVE);
    for (UnservedType &entry : worker_table().unserved)
        if (entry.database == MyDatabaseId)
            entry = {};
}

std::set<int> unserved_queues()
{
    std::vector<int> queues(max_unserved_types);  // allocated before the lock is taken
    auto end = queues.begin();
    {
        const WorkerLock lock(LW_SHARED);
        for (const UnservedType &entry : worker_table().unserved)
            if (entry.database == MyDatabaseId)
                *end++ = entry.queue_id;
    }
    return {queues.begin(), end};
}

}  // namespace hipq::workers
