// Keeps the owners for whom no executor could start, with the time of the next attempt.
//
// If the list is full, the entry with the earliest time is forgotten.
#include "shared/executors/start_failures.hpp"

#include "shared/executors/executor_table.hpp"
#include "shared/memory/alerts.hpp"

namespace hipq::executors {

namespace {

constexpr std::int64_t first_delay = 1'000'000;  // us
constexpr std::int64_t longest_delay = 10'000'000;

std::span<StartFailure> start_failures()
{
    return executor_table().start_failures;
}

StartFailure *find(Oid database, Oid role)
{
    for (StartFailure &entry : start_failures())
        if (entry.database == database && entry.role == role)
            return &entry;
    return nullptr;
}

StartFailure &find_or_make(Oid database, Oid role)
{
    if (StartFailure *entry = find(database, role))
        return *entry;
    StartFailure &entry =
        *std::min_element(start_failures().begin(), start_failures().end(),
                          [](const StartFailure &left, const StartFailure &right) {
                              return std::tuple(left.database != InvalidOid, left.not_before) <
                                     std::tuple(right.database != InvalidOid, right.not_before);
                          });
    if (entry.database != InvalidOid)
        memory::raise_alert(memory::Alert::start_failures_full);
    entry = StartFailure{database, role, 0, false, false, pg::Time{0}};
    return entry;
}

// A time later than any delay means that the clock was set back.
bool lies_ahead(const StartFailure &entry, pg::Time now)
{
    return entry.not_before > now && entry.not_before <= now + longest_delay;
}

}  // namespace

void refuse_starts(Oid database, Oid role, bool refused)
{
    const ExecutorLock lock(LW_EXCLUSIVE);
    if (refused)
        find_or_make(database, role).refused = true;
    else if (StartFailure *entry = find(database, role))
        *entry = StartFailure{entry->failures == 0 ? InvalidOid : database,
                              role,
                              entry->failures,
                              false,
                              entry->is_read_only,
                              entry->not_before};
}

std::optional<pg::Time> next_try(Oid database, Oid role, pg::Time now)
{
    const ExecutorLock lock(LW_SHARED);
    const StartFailure *entry = find(database, role);
    if (entry == nullptr || !lies_ahead(*entry, now))
        return std::nullopt;
    return entry->not_before;
}

bool may_start(Oid database, Oid role, pg::Time now)
{
    const StartFailure *entry = find(database, role);
    return entry == nullptr || (!entry->refused && !lies_ahead(*entry, now));
}

pg::Time note_failed_start(Oid database, Oid role, pg::Time now)
{
    StartFailure &entry = find_or_make(database, role);
    entry.not_before = now + std::min(longest_delay, first_delay << std::min(entry.failures, 6));
    ++entry.failures;
    return entry.not_before;
}

void note_read_only_session(Oid database, Oid role, pg::Time now)
{
    note_failed_start(database, role, now);
    find_or_make(database, role).is_read_only = true;
}

void note_start(Oid database, Oid role, bool begins_read_only)
{
    StartFailure *entry = find(database, role);
    if (entry != nullptr && !(entry->is_read_only && begins_read_only))
        *entry = StartFailure{};
}

bool is_read_only(Oid database, Oid role)
{
    const ExecutorLock lock(LW_SHARED);
    const StartFailure *entry = find(database, role);
    return entry != nullptr && entry->is_read_only;
}

void forget_failed_starts(Oid database)
{
    for (StartFailure &entry : start_failures())
        if (entry.database == database)
            entry = StartFailure{};
}

}  // namespace hipq::executors
