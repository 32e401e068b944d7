// The decisions, as tables of few cases.
#include "moves.hpp"

#include "ids.hpp"

#include <utility>

namespace hipq::core {

namespace {

constexpr bool is_own(SlotPhase phase)
{
    return phase == SlotPhase::own || phase == SlotPhase::incoming || phase == SlotPhase::settling;
}

// Whether something at the old node comes first.
constexpr bool has_to_wait(SlotPhase phase, MoveOrder order, const MovedJob &job)
{
    if (phase == SlotPhase::incoming)
        return job.has_key || order == MoveOrder::strict;
    return phase == SlotPhase::settling && job.has_key && job.key_runs_there;
}

}  // namespace

SlotPhase phase_of(int node, int owner, const Move *move)
{
    if (move != nullptr && node == move->from)
        return SlotPhase::leaving;
    if (node != owner)
        return SlotPhase::elsewhere;
    if (move == nullptr)
        return SlotPhase::own;
    return move->has_returned ? SlotPhase::settling : SlotPhase::incoming;
}

SlotPhase phase_after_returned(bool awaits_keys)
{
    return awaits_keys ? SlotPhase::settling : SlotPhase::own;
}

Arrival arrival(int node, SlotPhase phase, MoveOrder order, const MovedJob &job)
{
    if (phase == SlotPhase::unknown)
        return Arrival::hold;
    if (!is_own(phase) && job.is_behind_others && order == MoveOrder::strict)
        return Arrival::hold;
    if (!is_own(phase))
        return node == router_node ? Arrival::forward : Arrival::send_back;
    const bool waits_for_key = job.has_key && job.was_accepted && job.key_is_used_here;
    const bool waits = waits_for_key || job.is_behind_others || has_to_wait(phase, order, job);
    return waits ? Arrival::hold : Arrival::accept;
}

bool comes_before(MoveOrder order, const HeldJob &a, const HeldJob &b)
{
    const auto comes_first = [&](const HeldJob &job) {
        return job.was_accepted || (order == MoveOrder::strict && job.is_from_old_node);
    };
    return std::pair(!comes_first(a), a.arrival) < std::pair(!comes_first(b), b.arrival);
}

bool may_start_in(SlotPhase phase, MoveOrder order, const MovedJob &job)
{
    return is_own(phase) && !has_to_wait(phase, order, job);
}

bool must_go_back(SlotPhase phase)
{
    return phase == SlotPhase::leaving || phase == SlotPhase::elsewhere;
}

bool may_say_returned(MoveOrder order, const Leaving &leaving)
{
    return !leaving.has_waiting_jobs && (order == MoveOrder::by_key || leaving.router_is_done);
}

}  // namespace hipq::core
