// Watches prepared transactions for the launcher.
//
// Looks once a second while there are any. A transaction may be prepared and committed between two
// looks, so a database in which a session has prepared one is looked at once in any case.
#include "server/prepared_look.hpp"

#include "process/process.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/wakeup/prepared.hpp"

namespace hipq::server {

namespace {

constexpr std::int64_t look_interval = 1'000'000;  // us

// Returns the databases in which transactions have been prepared since the last look.
std::set<Oid> take_prepares(PreparedWatch &watch)
{
    std::set<Oid> databases;
    for (const databases::Prepares &prepares : databases::list_prepares())
        if (std::exchange(watch.seen[prepares.database], prepares.count) != prepares.count)
            databases.insert(prepares.database);
    return databases;
}

void look(PreparedWatch &watch)
{
    const bool is_first = !std::exchange(watch.has_begun, true);
    std::set<Oid> databases = take_prepares(watch);  // before the open ones are read
    std::map<TransactionId, Oid> open;
    for (const wakeup::PreparedTransaction &transaction : wakeup::prepared_transactions())
        if (is_first || databases.contains(transaction.database) ||
            watch.open.contains(transaction.xid))
            open.emplace(transaction.xid, transaction.database);
    for (const auto &[xid, database] : watch.open)
        if (!open.contains(xid))
            databases.insert(database);
    watch.open = std::move(open);
    for (const Oid database : databases)
        wakeup::look_for_unknown_jobs(database);
}

bool has_news(const PreparedWatch &watch)
{
    const auto is_new = [&](const databases::Prepares &prepares) {
        const auto found = watch.seen.find(prepares.database);
        return found == watch.seen.end() || found->second != prepares.count;
    };
    return std::ranges::any_of(databases::list_prepares(), is_new);
}

}  // namespace

std::int64_t watch_prepared(PreparedWatch &watch)
{
    const pg::Time now{::GetCurrentTimestamp()};
    if (watch.has_begun && watch.open.empty() && !has_news(watch))
        return process::longest_wait;
    if (now < watch.next_look)
        return watch.next_look.value - now.value;
    look(watch);
    watch.next_look = now + look_interval;
    return watch.open.empty() ? process::longest_wait : look_interval;
}

}  // namespace hipq::server
