// Asks for shares of limits, and gives back what is not needed.
//
// Shared memory says what may start (shared/lanes/node_share_table.hpp), and never more than the
// row. So a share is lowered there before the transaction that asks, and raised after the one that
// brought the answer.
#include "shards/permits/node_permits.hpp"

#include "catalog/cache.hpp"
#include "pg/clock.hpp"
#include "pg/transaction.hpp"
#include "process/process.hpp"
#include "shards/permits/look.hpp"
#include "shards/permits/permit_letters.hpp"
#include "shards/permits/permit_rows.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/databases/own_slot.hpp"
#include "shared/executors/freed_capacity.hpp"
#include "shared/lanes/node_share_table.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::shards {

namespace {

constexpr std::int64_t shortest_request_interval = 20'000;  // us, between two requests
constexpr std::int64_t idle_look_interval =
    100'000;  // between looks at shares that may no longer be needed
constexpr std::int64_t rest_from_error = 500'000;

bool is_over(pg::Time since, std::int64_t interval, pg::Time now)
{
    return now < since || now >= since + interval;
}

// ---- shared memory ----

// Finds the throttle keys that claimers have asked for on this node.
void find_asked_keys(Shares &shares)
{
    if (shares.limits.per_key.empty())
        return;
    for (const core::LimiterName &name : lanes::list_shares())
        if (name.key != 0)
            if (const auto limit = shares.limits.of_key(name))
                shares.known.try_emplace(limit->key, KnownShare{.limit = *limit});
}

void note_needs(Shares &shares, pg::Time now)
{
    for (auto &[key, known] : shares.known) {
        const lanes::ShareUse use = lanes::take_share_use(known.limit.name());
        core::note_use(known.demand, {use.running, use.peak, use.refused}, now.value);
        known.need = core::need_of(known.demand, use.running);
    }
}

// All jobs that were begun without knowing of the share are counted or have ended, and so are jobs
// that ran before the server's last start.
void see_who_counts(Shares &shares)
{
    for (auto &[key, known] : shares.known) {
        if (known.is_counted)
            continue;
        known.chosen = lanes::still_chosen(known.chosen);
        known.is_counted = known.chosen.empty() && databases::is_recovered(MyDatabaseId);
    }
}

void tell_of_capacity(const core::LimiterName &name, Oid owner)
{
    core::FreedCapacity freed{};
    freed.any = true;
    freed.key_count = name.key == 0 ? 0 : 1;
    freed.keys[0] = name;
    executors::announce_freed_capacity(freed, MyDatabaseId, owner);
    databases::work_due(MyDatabaseId, pg::Time{0});
}

// Sets the shares in shared memory to those of the rows.
void put_in_force(const Shares &shares)
{
    for (const auto &[key, known] : shares.known) {
        const core::PermitShare &share = known.share;
        if (known.is_read && known.is_counted &&
            lanes::set_share(known.limit.name(), core::usable_share(share),
                             share.has_all && share.target >= share.share))
            tell_of_capacity(known.limit.name(), known.limit.queue->owner);
    }
}

void forget_unused_keys(Shares &shares)
{
    std::erase_if(shares.known, [](const auto &entry) {
        const KnownShare &known = entry.second;
        return entry.first.is_of_throttle_key() && !known.is_read && known.need.want == 0 &&
               lanes::end_share_if_unused(known.limit.name());
    });
}

// ---- when ----

bool needs_row(const KnownShare &known)
{
    return known.limit.key.is_of_throttle_key() && !known.is_read && known.is_counted &&
           known.need.want > 0;
}

// Returns whether a transaction would do anything.
bool has_to_look(const Shares &shares, bool have_rows_changed, const Occasion &occasion)
{
    if (shares.is_changed || have_rows_changed || (occasion.is_turn && shares.are_keys_awaited))
        return true;
    return std::ranges::any_of(shares.known, [&](const auto &entry) {
        const KnownShare &known = entry.second;
        return is_due(known, occasion.is_refresh) || needs_row(known) ||
               (occasion.is_turn && known.is_open);
    });
}

pg::Time next_look(const Shares &shares)
{
    pg::Time next = shares.are_keys_awaited ? shares.last_turn + core::permit_turn : pg::infinity;
    const auto after = [&](pg::Time since, std::int64_t interval) {
        next = std::min(next, since + interval);
    };
    for (const auto &[key, known] : shares.known) {
        const core::PermitShare &share = known.share;
        const bool has_to_ask = is_due(known, false) || needs_row(known);
        if (!known.is_counted || has_to_ask || share.share > core::usable_share(share))
            after(shares.last, shortest_request_interval);
        else if (share.share > 0 || known.need.want > 0 || key.is_of_throttle_key())
            after(shares.last, idle_look_interval);
        if (known.is_open)
            after(shares.last_turn, core::permit_turn);
        if (known.is_read && core::should_refresh(share, known.need))
            after(shares.last_refresh, core::permit_refresh);
    }
    return next;
}

// Returns false after a failure: what is known was not committed, and has to be read again. A share
// that was lowered in shared memory stays lowered until then.
bool look(Shares &shares, const Occasion &occasion)
{
    const bool is_done = process::do_duty(core::Duty::shares, nullptr, [&] {
        pg::with_transaction([&] { look_at_shares(shares, occasion); });
    });
    shares.is_changed = !is_done;
    return is_done;
}

bool is_sharded(const catalog::Catalogue &catalogue)
{
    return std::ranges::any_of(catalogue.queues,
                               [](const auto &entry) { return entry.second.shards != nullptr; });
}

// Applies limits that are now shared from now on, and stops applying others.
void change_limits(Shares &shares)
{
    std::erase_if(shares.known,
                  [&](const auto &entry) { return !shares.limits.find(entry.first).has_value(); });
    for (auto &[key, known] : shares.known)
        known.limit = *shares.limits.find(key);
    for (const SharedLimit &limit : shares.limits.whole)
        if (!shares.known.contains(limit.key))
            shares.known.emplace(
                limit.key, KnownShare{.limit = limit, .chosen = lanes::begin_share(limit.name())});
    for (const core::LimiterName &name : lanes::list_shares()) {
        const bool is_shared = name.key == 0 ? std::ranges::any_of(shares.limits.whole,
                                                                   [&](const SharedLimit &limit) {
                                                                       return limit.name() == name;
                                                                   })
                                             : shares.limits.of_key(name).has_value();
        if (is_shared)
            continue;
        lanes::end_share(name);
        tell_of_capacity(name, InvalidOid);
    }
}

}  // namespace

void note_catalogue(Shares &shares, const std::shared_ptr<const catalog::Catalogue> &catalogue)
{
    const bool was_sharded = std::exchange(shares.has_sharded, is_sharded(*catalogue));
    shares.catalogue = catalogue;
    shares.limits = shared_limits(*catalogue);
    if (!was_sharded && !shares.has_sharded)
        return;
    change_limits(shares);
    shares.is_changed = true;
    shares.next = pg::Time{0};
}

pg::Time keep_shares(Shares &shares)
{
    if (shares.known.empty() && shares.limits.per_key.empty() && !shares.is_changed)
        return pg::infinity;
    const pg::Time now = pg::now();
    if (const databases::SharesAsked asked = databases::shares_asked(); asked.any())
        shares.next = std::min(shares.next,
                               asked.have_changed ? now : shares.last + shortest_request_interval);
    if (now < shares.next && shares.last <= now)
        return shares.next;
    const databases::SharesAsked asked = databases::take_shares_asked();
    const Occasion occasion{is_over(shares.last_refresh, core::permit_refresh, now),
                            is_over(shares.last_turn, core::permit_turn, now)};
    shares.are_keys_awaited =
        shares.are_keys_awaited || (asked.have_changed && !shares.limits.per_key.empty());
    find_asked_keys(shares);
    note_needs(shares, now);
    see_who_counts(shares);
    shares.last = now;
    if (has_to_look(shares, asked.have_changed, occasion) && !look(shares, occasion))
        return shares.next = now + rest_from_error;
    put_in_force(shares);
    forget_unused_keys(shares);
    shares.last_refresh = occasion.is_refresh ? now : shares.last_refresh;
    shares.last_turn = occasion.is_turn ? now : shares.last_turn;
    return shares.next = next_look(shares);
}

void take_answers(const std::string &instance, int node, pg::RawValue body)
{
    for (const auto &[key, answer] : read_answers(instance, node, body)) {
        auto share = key.is_of_throttle_key() ? lock_share(key) : lock_or_make_share(key);
        if (share.has_value() && hear(*share, answer))
            store_share(key, *share);
    }
    wakeup::note_shares();
}

}  // namespace hipq::shards
