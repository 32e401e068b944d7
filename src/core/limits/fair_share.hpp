// How executors are shared by weight: by the time for which they are used, not by the number of
// jobs.
//
// Whoever shares has an account in virtual time, which is the time used divided by the weight. Who
// has used least comes next, so in the long run each gets what its weight says, however long its
// jobs are. Nobody saves up: who has wanted nothing for a while comes back as one of those who have
// used least, not before them. The clock says how much that is.
//
// Two levels share like that: the queues of an owner share its executors from hand to hand, and the
// owners those of the server from process to process. Plain data, straight-line code, as it lives
// in shared memory under a lock.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hipq::core {

inline constexpr std::int64_t greatest_queue_weight = 1'000;
inline constexpr std::int64_t default_queue_weight = 100;

// A microsecond at the greatest weight of a queue is one. (An owner weighs as much as its queues
// together.)
using VirtualTime = std::int64_t;
constexpr VirtualTime virtual_time(std::int64_t microseconds, std::int64_t weight)
{
    return microseconds * greatest_queue_weight / std::max<std::int64_t>(weight, 1);
}

// ---- queues of an owner ----

// What a queue has used, and in which look for work its due jobs were seen last.
struct QueueAccount {
    VirtualTime used;
    std::int64_t look;
};

// Of the queues of one owner.
struct QueueClock {
    VirtualTime time;   // no queue that took part in the latest look had used less
    std::int64_t look;  // how many there have been
};

// Where a queue with due jobs stands: least first.
constexpr VirtualTime standing(const QueueAccount &account, const QueueClock &clock)
{
    return account.look == clock.look ? account.used : std::max(account.used, clock.time);
}

// A look for work: each queue that could have had the turn takes part, then the clock goes on to
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
    bool takes_part;  // wants executors or has work for those it has, as far as anybody knows
};

// `clock`: what those who take part have used at least.
constexpr void take_part(OwnerAccount &account, VirtualTime clock)
{
    account = {account.takes_part ? account.used : std::max(account.used, clock), true};
}

// An owner when it comes to who has to make room for whom.
struct Contender {
    VirtualTime used;
    std::int64_t weight;
    int executors;
};

// A process is not started for less (microseconds).
inline constexpr std::int64_t least_turn = 50'000;

// How long an executor may stay when somebody of another weight waits: a light owner takes its
// share in shorter turns, so that it need not wait for ages in between.
constexpr std::int64_t turn(std::int64_t quantum, std::int64_t weight, std::int64_t other)
{
    const std::int64_t fair =
        weight >= other ? quantum : quantum * weight / std::max<std::int64_t>(other, 1);
    return std::max(fair, std::min(quantum, least_turn));
}

// Whether an executor that has stayed for so long leaves in favour of another owner: one that has
// none as soon as it has used less, one that has some when a whole quantum is due to it. (So owners
// that have what is theirs do not swap executors.)
constexpr bool gives_way(const Contender &own, std::int64_t stayed, const Contender &other,
                         std::int64_t quantum)
{
    const VirtualTime some = virtual_time(std::max(quantum, least_turn), other.weight);
    const VirtualTime owed = other.executors == 0 ? 1 : std::max<VirtualTime>(some, 1);
    return stayed >= turn(quantum, own.weight, other.weight) && own.used - other.used >= owed;
}

// Places for executors that are kept for owners who have none: some are reserved, of which no more
// are kept than there are such owners, and one place is left to all in any case.
constexpr int kept_places(int reserved, int most, int owners_without)
{
    return std::clamp(std::min(reserved, owners_without), 0, std::max(most - 1, 0));
}

// Whether an owner who has some executors may have one more, when so many places are taken.
constexpr bool may_have_another(int own, int taken, int most, int kept)
{
    return taken < (own == 0 ? most : most - kept);
}

// Who is given an executor next: the least claim. Those that it has count as if each had used a
// quantum already.
constexpr VirtualTime claim(const Contender &owner, std::int64_t quantum)
{
    return owner.used + virtual_time(quantum * owner.executors, owner.weight);
}

}  // namespace hipq::core
