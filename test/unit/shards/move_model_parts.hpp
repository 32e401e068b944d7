// Small parts of the steps of the model of moves: bits for jobs, streams, and what a shard or the
// router does within a step.
#pragma once

#include "move_model.hpp"

#include "core/shards/ids.hpp"

#include <algorithm>

namespace hipq::test {

using namespace hipq::core;

enum Wrong : std::uint8_t {
    nothing,
    duplicate_of_accepted,
    out_of_order,
    on_two_nodes,
    queue_is_full
};

constexpr Bits bit(int job)
{
    return static_cast<Bits>(1U << static_cast<unsigned>(job));
}
constexpr bool has(Bits bits, int job)
{
    return (bits & bit(job)) != 0;
}
constexpr void put(Bits &bits, int job)
{
    bits = static_cast<Bits>(bits | bit(job));
}
constexpr void take(Bits &bits, int job)
{
    bits = static_cast<Bits>(bits & ~bit(job));
}

constexpr std::size_t shard_of(int node)
{
    return static_cast<std::size_t>(node - 1);
}

inline const SlotMap &map_with_owner(int node)
{
    static const std::array<SlotMap, 3> maps = [] {
        std::array<SlotMap, 3> result{};
        for (int owner = 0; owner < 3; ++owner)
            std::fill(result[static_cast<std::size_t>(owner)].begin() + 1,
                      result[static_cast<std::size_t>(owner)].end(),
                      static_cast<std::int16_t>(owner));
        return result;
    }();
    return maps[static_cast<std::size_t>(node)];
}
inline constexpr int the_slot = 1;

// ---- streams

inline bool is_full(const MessageQueue &queue, int more)
{
    return queue.count + more > queue_capacity;
}
inline void push(MessageQueue &queue, const Message &message)
{
    queue.messages.at(queue.count++) = packed(message);
}
inline Message pop(MessageQueue &queue)
{
    const Message first = unpacked(queue.messages[0]);
    std::copy(queue.messages.begin() + 1, queue.messages.end(), queue.messages.begin());
    queue.messages.back() = 0;
    --queue.count;
    return first;
}
inline Message simple(MessageKind kind)
{
    Message message;
    message.kind = kind;
    return message;
}
// A job in a message, or held.
struct SentJob {
    int job;
    bool was_accepted = false;
};
inline Message job_message(const SentJob &sent, bool releases = false)
{
    Message message = simple(MessageKind::job);
    message.value = static_cast<std::uint8_t>(sent.job);
    message.was_accepted = sent.was_accepted;
    message.releases = releases;
    return message;
}
inline SentJob sent_job(const Message &message)
{
    return {message.value, message.was_accepted};
}
inline Message phase_message(MessageKind kind, SlotPhase phase)
{
    Message message = simple(kind);
    message.value = static_cast<std::uint8_t>(phase);
    return message;
}

// ---- shards

inline Bits unfinished(const ShardState &shard)
{
    return static_cast<Bits>(shard.waiting | shard.running);
}

inline void hold(ShardState &shard, const SentJob &job)
{
    shard.held.jobs.at(shard.held.count++) = packed(job_message(job));
}
inline SentJob held_job(const ShardState &shard, std::size_t at)
{
    return sent_job(unpacked(shard.held.jobs.at(at)));
}
inline void let_go(ShardState &shard, std::size_t at)
{
    auto &jobs = shard.held.jobs;
    std::copy(jobs.begin() + static_cast<std::ptrdiff_t>(at) + 1, jobs.end(),
              jobs.begin() + static_cast<std::ptrdiff_t>(at));
    jobs.back() = 0;
    --shard.held.count;
}

// Running jobs wait again, uncommitted work is lost.
inline void lose_uncommitted(ShardState &shard)
{
    shard.waiting = static_cast<Bits>(shard.waiting | shard.running);
    shard.running = 0;
    shard.producers = {};
}

// Whether an open transaction has seen the slot here, before it left.
inline bool has_old_producers(const ShardState &shard)
{
    return std::any_of(shard.producers.begin(), shard.producers.end(), [](std::uint8_t seen) {
        return seen != 0 && !must_go_back(static_cast<SlotPhase>(seen - 1));
    });
}

// The key is free here. A node that has named the key reports this.
inline bool releases_key(ShardState &shard)
{
    if (shard.told_key == 0 || unfinished(shard) != 0)
        return false;
    shard.told_key = 0;
    shard.phase = SlotPhase::elsewhere;
    return true;
}

// ---- the router

inline const Move *move_of(const MoveState &state, Move &move)
{
    move = {state.move_from, state.move_to, state.has_returned != 0};
    return state.moves != 0 ? &move : nullptr;
}
inline SlotPhase phase_at(const MoveState &state, int node)
{
    Move move{};
    return phase_of(node, state.owner, move_of(state, move));
}

// Where the slot is, as seen by processes of the router other than the one that has just moved it.
inline int owner_seen(const MoveState &state)
{
    return state.unseen != 0 ? state.move_from : state.owner;
}

// The router writes to its outbox. A promoted shard gets the message by the resync.
inline void send(MoveState &state, int node, const Message &message)
{
    const std::size_t n = shard_of(node);
    Tail &tail = state.tail;
    if (message.kind == MessageKind::job) {
        state.last_word.at(message.value) = static_cast<std::uint8_t>(node);
        if (n == 0 &&
            (tail.step == Tail::Step::lost_from_here || tail.step == Tail::Step::promoted))
            tail.kept.at(message.value) = packed(message);
    }
    if (n == 0 && tail.step == Tail::Step::promoted)
        return;
    if (is_full(state.to[n], 1))
        state.wrong = queue_is_full;
    else
        push(state.to[n], message);
}

inline void end_move(MoveState &state)
{
    state.moves = state.move_from = state.move_to = 0;
    state.has_returned = state.awaits_key = state.told_last = 0;
}

inline void take_released(MoveState &state, int from)
{
    if (state.moves == 0 || from != state.move_from || state.awaits_key == 0)
        return;
    send(state, state.move_to, simple(MessageKind::released));
    end_move(state);
}

inline void take_returned(MoveState &state, int from, bool awaits_key)
{
    if (state.moves == 0 || from != state.move_from || state.has_returned != 0)
        return;
    state.has_returned = 1;
    state.awaits_key = awaits_key;
    Message message = simple(MessageKind::returned);
    message.awaits_key = awaits_key;
    send(state, state.move_to, message);
    if (!awaits_key)
        end_move(state);
}

// A job that a node has sent to the router.
inline void forward(MoveState &state, const Message &message, int owner)
{
    const Route way = route(map_with_owner(owner), router_node, the_slot);
    send(state, way.node, job_message(sent_job(message)));
}

inline bool is_anywhere(const MoveState &state, int job)
{
    const auto is_in = [&](const MessageQueue &queue) {
        return std::any_of(queue.messages.begin(), queue.messages.begin() + queue.count,
                           [&](std::uint8_t each) {
                               const Message message = unpacked(each);
                               return message.kind == MessageKind::job && message.value == job;
                           });
    };
    for (const ShardState &shard : state.shards) {
        if (has(shard.waiting | shard.running | shard.done | shard.duplicate, job))
            return true;
        for (std::size_t i = 0; i < shard.held.count; ++i)
            if (held_job(shard, i).job == job)
                return true;
    }
    const auto at = static_cast<std::size_t>(job);
    const bool comes_again = state.tail.step == Tail::Step::promoted && state.tail.kept[at] != 0 &&
                             state.last_word[at] == 1;
    return comes_again || is_in(state.to[0]) || is_in(state.to[1]) || is_in(state.from[0]) ||
           is_in(state.from[1]);
}

inline LastWord last_word(const MoveState &state, int job)
{
    const int node = state.last_word.at(static_cast<std::size_t>(job));
    return node == 0 ? LastWord{} : LastWord{node};
}

}  // namespace hipq::test
