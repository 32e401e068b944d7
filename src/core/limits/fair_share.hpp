// Shares executors by weight, measured by the time they are used, not by the number of jobs.
//
// Each participant has an account in virtual time: the time it used, divided by its weight. The
// participant that used least comes next, so in the long run each gets its share by weight, however
// long its jobs are. Nothing can be saved up: a participant that was idle comes back level with the
// least used of the active ones, not ahead of them. The clock holds that least value.
//
// Two levels share this way: the queues of an owner share its executors from job to job, and the
// owners share the server's executors from process to process. Plain data and straight-line code,
// because it lives in shared memory under a lock.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hipq::core {

inline constexpr std::int64_t greatest_queue_weight = 1'000;
inline constexpr std::int64_t default_queue_weight = 100;

// One microsecond at the greatest queue weight is one unit. (An owner's weight is the sum of its
// queues' weights.)
using VirtualTime = std::int64_t;
constexpr VirtualTime virtual_time(std::int64_t microseconds, std::int64_t weight)
{
    return microseconds * greatest_queue_weight / std::max<std::int64_t>(weight, 1);
}

// ---- queues of an owner ----

// What a queue has used, and the last look for work that saw due jobs in it.
struct QueueAccount {
    VirtualTime used;
    std::int64_t look;
};

// The clock of one owner's queues.
struct QueueClock {
    VirtualTime time;   // no queue that took part in the latest look has used less
    std::int64_t look;  // number of looks so far
};

// The standing of a queue with due jobs. The least comes first.
constexpr VirtualTime standing(const QueueAccount &account, const QueueClock &clock)
{
    return account.look == clock.look ? account.used : std::max(account.used, clock.time);
}

// A look for work: each queue that could have had its turn takes part, then the clock advances to
// the least of their standings.
constexpr void take_part(QueueAccount &account, const QueueClock &clock)
{
    account = {standing(account, clock), clock.look + 1};
}
constexpr void end_look(QueueClock &clock, VirtualTime least)
{
    clock = {std::max(clock.time, least), clock.look + 1};
}

// ---- owners ----

struct OwnerAccount {
    VirtualTime used;
    bool takes_part;  // as far as known, wants executors or has work for those it has
};

// `clock`: the least that the participating owners have used.
constexpr void take_part(OwnerAccount &account, VirtualTime clock)
{
    account = {account.takes_part ? account.used : std::max(account.used, clock), true};
}

// An owner, when owners compete for executors.
struct Contender {
    VirtualTime used;
    std::int64_t weight;
    int executors;
};

// The shortest turn for which a process is started (microseconds).
inline constexpr std::int64_t least_turn = 50'000;

// Returns how long an executor may stay while an owner of another weight waits. A light owner takes
// its share in shorter turns, so that it need not wait long in between.
constexpr std::int64_t turn(std::int64_t quantum, std::int64_t weight, std::int64_t other)
{
    const std::int64_t fair =
        weight >= other ? quantum : quantum * weight / std::max<std::int64_t>(other, 1);
    return std::max(fair, std::min(quantum, least_turn));
}

// Returns whether an executor that has stayed for that long leaves in favour of another owner. An
// owner without executors takes over as soon as it has used less; an owner with executors only when
// it is owed a whole quantum. (So owners that have their share do not swap executors.)
constexpr bool gives_way(const Contender &own, std::int64_t stayed, const Contender &other,
                         std::int64_t quantum)
{
    const VirtualTime some = virtual_time(std::max(quantum, least_turn), other.weight);
    const VirtualTime owed = other.executors == 0 ? 1 : std::max<VirtualTime>(some, 1);
    return stayed >= turn(quantum, own.weight, other.weight) && own.used - other.used >= owed;
}

// How many executors to keep for owners that have none: the reserved number, but no more than there
// are owners without executors; at least one executor stays available to all.
constexpr int kept_places(int reserved, int most, int owners_without)
{
    return std::clamp(std::min(reserved, owners_without), 0, std::max(most - 1, 0));
}

// Returns whether an owner that has `own` executors may have one more when `taken` are in use.
constexpr bool may_have_another(int own, int taken, int most, int kept)
{
    return taken < (own == 0 ? most : most - kept);
}

// The owner with the least claim gets the next executor. Each executor that an owner has counts as
// if it had used a quantum already.
constexpr VirtualTime claim(const Contender &owner, std::int64_t quantum)
{
    return owner.used + virtual_time(quantum * owner.executors, owner.weight);
}

}  // namespace hipq::core
