// Makes the decisions, as tables of few cases.
#include "core/shards/moves.hpp"

#include "core/shards/ids.hpp"

#include <utility>

namespace hipq::core {

namespace {

constexpr bool is_own(SlotPhase phase)
{
    return phase == SlotPhase::own || phase == SlotPhase::incoming || phase == SlotPhase::settling;
}

// Returns whether something at the old node must happen first.
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
    if (!is_own(phase))
        return node == router_node ? Arrival::forward : Arrival::send_back;
    const bool waits_for_key = job.has_key && job.was_accepted && job.key_is_used_here;
    const bool waits = waits_for_key || job.is_behind_others || has_to_wait(phase, order, job);
    return waits ? Arrival::hold : Arrival::accept;
}

bool comes_before(const HeldJob &a, const HeldJob &b)
{
    return std::pair(!a.was_accepted, a.place) < std::pair(!b.was_accepted, b.place);
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
    if (leaving.has_waiting_jobs)
        return false;
    return order == MoveOrder::by_key || (leaving.producers_are_done && !leaving.has_running_jobs);
}

}  // namespace hipq::core
