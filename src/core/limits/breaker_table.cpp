// Implements the table of breakers.
#include "core/limits/breaker_table.hpp"

#include <utility>

namespace hipq::core {

namespace {

void note_change(BreakerEntry &entry, std::int64_t change, std::int64_t now)
{
    entry.change = change;
    entry.changed_at = now;
}

BreakerOpening opening_of(const BreakerRow &row)
{
    return {row.since, row.until, BreakerCause::row, {}};
}

}  // namespace

// The row of an open breaker brings back what a removed entry knew. A process may still have a row
// that has just changed, so the latest change must be a while ago.
bool BreakerTable::is_idle(const BreakerEntry &entry, std::int64_t now) const
{
    constexpr std::int64_t patience = microseconds_per_minute;
    BreakerRecord copy = entry.record;
    return entry.jobs == 0 && entry.saved == entry.change && entry.changed_at + patience <= now &&
           Breaker(copy).counted(entry.rule, now).ended == 0;
}

void BreakerTable::learn(BreakerEntry &entry, const BreakerRow &row, std::int64_t now)
{
    if (row.change <= entry.change)
        return;
    Breaker(entry.record).open(opening_of(row));
    note_change(entry, row.change, now);
    entry.saved = row.change;
}

std::int32_t BreakerTable::find_or_make(const LimiterName &name, const StartBreaker &wanted,
                                        std::int64_t now)
{
    std::int32_t entry = table_.find(name);
    if (entry == no_breaker)
        entry = table_.make(name, wanted.owner, wanted.owner_share,
                            [&](std::int32_t i) { return is_idle(at(i), now); });
    if (entry == no_breaker)
        return no_breaker;
    if (at(entry).rule != wanted.rule) {
        at(entry).rule = wanted.rule;
        Breaker(at(entry).record).forget_ends();
    }
    learn(at(entry), wanted.row, now);
    return entry;
}

Breaker::Answer BreakerTable::ask(std::int32_t entry, const BreakerRule &rule, std::int64_t now)
{
    const Breaker::Answer answer = Breaker(at(entry).record).ask(rule, now);
    at(entry).is_refusing = at(entry).is_refusing || answer == Breaker::Answer::none;
    return answer;
}

std::uint32_t BreakerTable::admit(std::int32_t entry, const BreakerRule &rule, std::int64_t now)
{
    BreakerEntry &admitting = at(entry);
    const bool was_closed = admitting.record.state == BreakerState::closed;
    const std::uint32_t generation = Breaker(admitting.record).admit(rule);
    if (!was_closed && admitting.record.state == BreakerState::closed)
        note_change(admitting, admitting.change + 1, now);
    ++admitting.jobs;
    return generation;
}

bool BreakerTable::give_back(std::int32_t entry, std::uint32_t generation)
{
    --at(entry).jobs;
    return Breaker(at(entry).record).give_back(generation) &&
           std::exchange(at(entry).is_refusing, false);
}

bool BreakerTable::end(std::int32_t entry, std::uint32_t generation, bool has_failed,
                       std::int64_t now)
{
    BreakerEntry &counting = at(entry);
    --counting.jobs;
    if (!Breaker(counting.record).end(counting.rule, generation, has_failed, now))
        return false;
    note_change(counting, counting.change + 1, now);
    return std::exchange(counting.is_refusing, false);
}

bool BreakerTable::order(std::int32_t entry, const BreakerOrder &order, std::int64_t now)
{
    BreakerEntry &ordered = at(entry);
    if (order.state == BreakerState::open)
        Breaker(ordered.record).open(opening_of(order.row));
    else
        Breaker(ordered.record).close();
    // A change that was made since the row was written has the number of the order, or a higher
    // one: the row must be written again.
    const bool is_latest = order.row.change > ordered.change;
    note_change(ordered, is_latest ? order.row.change : ordered.change + 1, now);
    if (is_latest)
        ordered.saved = ordered.change;
    return std::exchange(ordered.is_refusing, false);
}

void BreakerTable::note_saved(std::int32_t entry, std::int64_t change)
{
    if (at(entry).change == change)
        at(entry).saved = change;
}

BreakerRow row_of(const BreakerEntry &entry)
{
    if (entry.record.state == BreakerState::closed)
        return {entry.change, 0, 0};
    return {entry.change, entry.record.opening.since, entry.record.opening.until};
}

}  // namespace hipq::core
