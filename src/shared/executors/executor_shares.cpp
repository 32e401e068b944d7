// Keeps the accounts by which owners and queues share executors.
//
// Owners are in a list, queues in a small hash table that forgets accounts instead of filling up. A
// forgotten account starts again with the least use.
#include "shared/executors/executor_shares.hpp"

#include <chrono>

#include "pg/clock.hpp"
#include "settings.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/databases/stand_aside.hpp"
#include "shared/executors/executor_slots.hpp"
#include "shared/executors/own_executor.hpp"
#include "shared/executors/reserve.hpp"
#include "shared/executors/start_failures.hpp"

extern "C" {
#include "common/hashfn.h"
}

namespace hipq::executors {

namespace {

// Schedulers repeat their requests every 10 s.
constexpr std::int64_t wish_lasts = 30'000'000;  // us

constexpr std::size_t neighbours = 8;
constexpr std::int64_t no_look = -1;

// Uses the steady clock, because the wall clock can be set.
std::int64_t microseconds()
{
    using namespace std::chrono;
    return duration_cast<std::chrono::microseconds>(steady_clock::now().time_since_epoch()).count();
}

// ---- owners ----

std::span<OwnerShare> owners()
{
    return {executor_table().owners, static_cast<std::size_t>(executor_table().owner_count)};
}

OwnerShare *find_owner(Oid database, Oid role)
{
    for (OwnerShare &owner : owners())
        if (owner.database == database && owner.role == role)
            return &owner;
    return nullptr;
}

void set_missing(OwnerShare &owner, int executors)
{
    executor_table().waiting_owners += (executors > 0 ? 1 : 0) - (owner.missing > 0 ? 1 : 0);
    owner.missing = executors;
}

// Returns a free entry, or the entry of an owner that can do without: one that does not take part,
// else the one that has used most.
OwnerShare &place_for_owner()
{
    for (OwnerShare &owner : owners())
        if (owner.database == InvalidOid)
            return owner;
    if (executor_table().owner_count < max_owner_shares)
        return executor_table().owners[executor_table().owner_count++];
    OwnerShare &last = *std::min_element(
        owners().begin(), owners().end(), [](const OwnerShare &left, const OwnerShare &right) {
            return std::tuple(left.account.takes_part, -left.account.used) <
                   std::tuple(right.account.takes_part, -right.account.used);
        });
    set_missing(last, 0);
    return last;
}

// The queues of a new owner start with equal accounts.
OwnerShare &find_or_make_owner(Oid database, Oid role)
{
    if (OwnerShare *owner = find_owner(database, role))
        return *owner;
    OwnerShare &owner = place_for_owner();
    owner = OwnerShare{
        database, role, {0, false},  core::default_queue_weight, executor_table().latest_clock,
        0,        {},   pg::infinity};
    return owner;
}

void advance_clock()
{
    constexpr auto nobody = std::numeric_limits<core::VirtualTime>::max();
    core::VirtualTime least = nobody;
    for (const OwnerShare &owner : owners())
        if (owner.database != InvalidOid && owner.account.takes_part)
            least = std::min(least, owner.account.used);
    if (least != nobody)
        executor_table().owner_clock = std::max(executor_table().owner_clock, least);
}

void take_part(OwnerShare &owner)
{
    if (owner.account.takes_part)
        return;
    advance_clock();
    core::take_part(owner.account, executor_table().owner_clock);
}

void step_back(OwnerShare &owner)
{
    set_missing(owner, 0);
    owner.waits_since = pg::infinity;
    if (!owner.account.takes_part)
        return;
    advance_clock();
    owner.account.takes_part = false;
}

bool waits(const OwnerShare &owner, pg::Time now)
{
    if (owner.missing == 0 || owner.asked > now || owner.asked + wish_lasts < now)
        return false;
    return may_start(owner.database, owner.role, pg::now()) &&
           !databases::stands_aside(owner.database) && !databases::is_closed(owner.database);
}

core::Contender contender(const OwnerShare &owner)
{
    return {owner.account.used, owner.weight, count_alive(owner.database, owner.role)};
}

std::int64_t quantum()
{
    return settings::executor_quantum.microseconds();
}

// ---- queues ----

std::uint32_t hash_of(int queue_id)
{
    return ::hash_combine(::murmurhash32(MyDatabaseId),
                          ::murmurhash32(static_cast<std::uint32_t>(queue_id)));
}

QueueShare &queue_at(std::uint32_t hash, std::size_t step)
{
    return executor_table().queues[(hash + step) % max_queue_shares];
}

// Returns the account of a queue of this database. An account under another owner does not count.
QueueShare *find_queue(int queue_id, Oid role)
{
    const std::uint32_t hash = hash_of(queue_id);
    for (std::size_t step = 0; step < neighbours; ++step)
        if (QueueShare &queue = queue_at(hash, step);
            queue.database == MyDatabaseId && queue.queue_id == queue_id && queue.role == role)
            return &queue;
    return nullptr;
}

QueueShare &find_or_make_queue(int queue_id, Oid role)
{
    const std::uint32_t hash = hash_of(queue_id);
    QueueShare *place = nullptr;
    for (std::size_t step = 0; step < neighbours; ++step) {
        QueueShare &queue = queue_at(hash, step);
        if (queue.database == MyDatabaseId && queue.queue_id == queue_id) {
            place = &queue;
            break;
        }
        if (place == nullptr && queue.database == InvalidOid)
            place = &queue;
    }
    if (place == nullptr)
        place = &queue_at(hash, 0);
    if (place->database != MyDatabaseId || place->queue_id != queue_id || place->role != role)
        *place = QueueShare{MyDatabaseId, role, queue_id, {0, no_look}};
    return *place;
}

// Accounts that were forgotten in the meantime are not charged.
void charge(const ExecutorSlot &slot, std::int64_t used)
{
    const Turn &turn = slot.turn;
    if (QueueShare *queue = find_queue(turn.queue_id, slot.role))
        queue->account.used += core::virtual_time(used, turn.weight);
    if (OwnerShare *owner = find_owner(slot.database, slot.role))
        owner->account.used += core::virtual_time(used, turn.owner_weight);
}

}  // namespace

// ---- executor ----

void look_up_job_statuses(std::span<QueueInTurn> queues)
{
    const Oid role = own_ticket().role;
    const ExecutorLock lock(LW_SHARED);
    const OwnerShare *owner = find_owner(MyDatabaseId, role);
    if (owner == nullptr)
        return;
    for (QueueInTurn &queue : queues) {
        const QueueShare *share = find_queue(queue.queue_id, role);
        queue.standing = core::standing(
            share == nullptr ? core::QueueAccount{0, no_look} : share->account, owner->clock);
    }
}

// Charges the expected time of the prefetched batch at once, so that other executors see it.
void begin_turn(std::span<const QueueInTurn> queues, std::int64_t microseconds_expected)
{
    const ExecutorLock lock(LW_EXCLUSIVE);
    ExecutorSlot *slot = own_executor();
    OwnerShare &owner = find_or_make_owner(slot->database, slot->role);
    take_part(owner);
    owner.weight = 0;
    core::VirtualTime least = std::numeric_limits<core::VirtualTime>::max();
    for (const QueueInTurn &queue : queues) {
        core::QueueAccount &account = find_or_make_queue(queue.queue_id, slot->role).account;
        core::take_part(account, owner.clock);
        least = std::min(least, account.used);
        owner.weight += queue.weight;
    }
    core::end_look(owner.clock, least);
    core::QueueClock &latest = executor_table().latest_clock;
    latest = {std::max(latest.time, owner.clock.time), std::max(latest.look, owner.clock.look)};
    slot->turn = Turn{queues.front().queue_id, queues.front().weight, owner.weight, microseconds(),
                      microseconds_expected};
    charge(*slot, microseconds_expected);
}

void end_turn(ExecutorSlot &slot)
{
    if (slot.turn.queue_id == 0)
        return;
    charge(slot, microseconds() - slot.turn.began - slot.turn.charged);
    slot.turn = Turn{};
}

void note_nothing_due()
{
    const ExecutorTicket &own = own_ticket();
    const ExecutorLock lock(LW_EXCLUSIVE);
    if (OwnerShare *owner = find_owner(own.database, own.role))
        step_back(*owner);
}

// ---- owners that wait, and executors that make room ----

pg::Time want_more(Oid database, Oid role, int executors, std::int64_t weight)
{
    const pg::Time now{::GetCurrentTimestamp()};
    OwnerShare &owner = find_or_make_owner(database, role);
    take_part(owner);
    set_missing(owner, executors);
    owner.weight = weight;
    owner.asked = now;
    owner.waits_since =
        count_alive(database, role) == 0 ? std::min(owner.waits_since, now) : pg::infinity;
    return owner.waits_since;
}

void want_nothing(Oid database, Oid role)
{
    if (OwnerShare *owner = find_owner(database, role))
        step_back(*owner);
}

bool somebody_waits()
{
    return executor_table().waiting_owners > 0;
}

OwnerShare *next_to_serve()
{
    if (!somebody_waits())
        return nullptr;
    const pg::Time now{::GetCurrentTimestamp()};
    const auto place = [&](const OwnerShare &owner) {
        return std::tuple(core::claim(contender(owner), quantum()), owner.waits_since);
    };
    const Places present = places();
    OwnerShare *next = nullptr;
    for (OwnerShare &owner : owners())
        if (waits(owner, now) && (next == nullptr || place(owner) < place(*next)) &&
            has_place(present, owner.database, owner.role))
            next = &owner;
    return next;
}

void served(OwnerShare &owner)
{
    set_missing(owner, owner.missing - 1);
    owner.waits_since = pg::infinity;
}

const OwnerShare *first_without_executor()
{
    const pg::Time now{::GetCurrentTimestamp()};
    if (somebody_waits())
        for (const OwnerShare &owner : owners())
            if (waits(owner, now) && count_alive(owner.database, owner.role) == 0)
                return &owner;
    return nullptr;
}

bool gives_way(const ExecutorSlot &slot, bool idle, pg::Time now)
{
    const OwnerShare *own = find_owner(slot.database, slot.role);
    const std::int64_t stayed = now.value - slot.started.value;
    return std::any_of(owners().begin(), owners().end(), [&](const OwnerShare &other) {
        if (&other == own || !waits(other, now))
            return false;
        const core::Contender waiting = contender(other);
        if (idle)
            return waiting.executors == 0;
        return (own == nullptr || core::gives_way(contender(*own), stayed, waiting, quantum())) &&
               has_place(places(&slot), other.database, other.role);
    });
}

void forget_shares(Oid database)
{
    for (OwnerShare &owner : owners())
        if (owner.database == database) {
            set_missing(owner, 0);
            owner = OwnerShare{};
        }
    for (QueueShare &queue : executor_table().queues)
        if (queue.database == database)
            queue = QueueShare{};
}

}  // namespace hipq::executors
