// The steps of the model of moves for a standby, and the checks of a state.
#include "move_model_parts.hpp"

#include <bit>

namespace hipq::test {

bool MoveModel::stop_following(State &state) const
{
    Tail &tail = state.tail;
    if (!setting_.tail_is_lost || tail.step != Tail::Step::none)
        return false;
    tail.step = Tail::Step::lost_from_here;
    tail.standby = state.shards[0];
    lose_uncommitted(tail.standby);
    tail.to_router = state.from[0];
    for (std::size_t i = 0; i < state.to[0].count; ++i) {
        const Message message = unpacked(state.to[0].messages.at(i));
        if (message.kind == MessageKind::job)
            tail.kept.at(message.value) = packed(message);
    }
    return true;
}

bool MoveModel::promote(State &state) const
{
    Tail &tail = state.tail;
    if (tail.step != Tail::Step::lost_from_here)
        return false;
    tail.step = Tail::Step::promoted;
    state.shards[0] = tail.standby;
    tail.standby = {};
    tail.old_held = state.shards[0].held.count;
    if (rules_.waits_after_promotion)
        state.shards[0].phase = SlotPhase::unknown;
    state.to[0] = {};
    state.from[0] = tail.to_router;
    tail.to_router = {};
    for (; tail.received > 0 && state.from[0].count > 0; --tail.received)
        pop(state.from[0]);
    tail.to_ignore = rules_.names_timelines ? 0 : tail.received;
    tail.received = 0;
    // No other node has ever known them: they are lost as on a single server whose standby is
    // promoted.
    for (int job = 0; job < job_count; ++job)
        if (has(state.born, job) && !last_word(state, job) && !is_anywhere(state, job))
            take(state.born, job);
    return true;
}

bool MoveModel::resync(State &state, bool backwards) const
{
    Tail &tail = state.tail;
    const bool is_read = state.from[0].count == 0 || !rules_.reads_before_resync;
    if (tail.step != Tail::Step::promoted || !is_read)
        return false;
    for (int i = 0; i < job_count; ++i) {
        const int job = backwards ? job_count - 1 - i : i;
        const std::uint8_t kept = tail.kept.at(static_cast<std::size_t>(job));
        const bool comes = kept != 0 && rules_.is_sent_again(1, last_word(state, job));
        if (comes)
            push(state.to[0], unpacked(kept));
        if (rules_.is_stale(1, last_word(state, job), comes))
            put(tail.stale, job);
    }
    Message end = phase_message(MessageKind::resynced, phase_at(state, 1));
    end.awaits_key = state.awaits_key != 0;
    end.has_returned = state.moves != 0 && state.has_returned != 0;
    push(state.to[0], end);
    if (state.told_last != 0 && state.move_from == 1)
        push(state.to[0], simple(MessageKind::last));  // part of the current state
    tail.kept = {};
    tail.step = Tail::Step::resynced;
    return true;
}

// ---- checks

const char *MoveModel::fault(const State &state) const
{
    const ShardState &one = state.shards[0];
    const ShardState &two = state.shards[1];
    if (state.wrong == duplicate_of_accepted)
        return "a job that was accepted is dropped as a duplicate";
    if (state.wrong == out_of_order)
        return "a younger job starts before an older one";
    if (state.wrong == on_two_nodes)
        return "a job starts while one of its slot runs on another node";
    if (state.wrong == queue_is_full)
        return "a stream of the model is too short";
    const auto ran = [](const ShardState &shard) { return Bits(shard.running | shard.done); };
    if ((ran(one) & ran(two)) != 0 || (one.running & one.done) != 0 ||
        (two.running & two.done) != 0)
        return "a job runs twice";
    if (setting_.have_key && std::popcount(static_cast<unsigned>(one.running)) +
                                     std::popcount(static_cast<unsigned>(two.running)) >
                                 1)
        return "two jobs of one key run at once";
    for (int job = 0; job < job_count; ++job)
        if (has(state.born, job) && !is_anywhere(state, job))
            return "a job is lost";
    return nullptr;
}

bool MoveModel::is_end(const State &state) const
{
    Bits ended = 0;
    for (const ShardState &shard : state.shards) {
        ended = static_cast<Bits>(ended | shard.done | shard.duplicate);
        if (unfinished(shard) != 0 || shard.held.count != 0 || shard.phase == SlotPhase::leaving)
            return false;
    }
    const bool streams_are_empty =
        state.to[0].count + state.to[1].count + state.from[0].count + state.from[1].count == 0;
    return ended == (1U << job_count) - 1 && streams_are_empty && state.moves == 0;
}

}  // namespace hipq::test
