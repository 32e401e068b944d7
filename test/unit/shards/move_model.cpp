// The steps of the model of moves, except those of a standby (move_model_tail.cpp).
#include "move_model_parts.hpp"

namespace hipq::test {

std::uint8_t packed(const Message &message)
{
    const bool is_job = message.kind == MessageKind::job;
    unsigned byte = static_cast<unsigned>(message.kind);
    byte |= static_cast<unsigned>(message.value) << 3U;
    byte |= (is_job ? message.was_accepted : message.awaits_key) ? 0x40U : 0U;
    byte |= (is_job ? message.releases : message.has_returned) ? 0x80U : 0U;
    return static_cast<std::uint8_t>(byte);
}

Message unpacked(std::uint8_t byte)
{
    Message message = simple(static_cast<MessageKind>(byte & 7U));
    const bool is_job = message.kind == MessageKind::job;
    message.value = static_cast<std::uint8_t>((byte >> 3U) & (is_job ? 3U : 7U));
    (is_job ? message.was_accepted : message.awaits_key) = (byte & 0x40U) != 0;
    (is_job ? message.releases : message.has_returned) = (byte & 0x80U) != 0;
    return message;
}

MoveModel::MoveModel(const MoveSetting &setting, const MoveRules &rules)
    : setting_(setting), rules_(rules)
{
}

MoveState MoveModel::start() const
{
    MoveState state{};
    state.owner = 1;
    state.shards[0].phase = SlotPhase::own;
    return state;
}

// The node number that the rules use.
int MoveModel::node_of(int n) const
{
    return setting_.router_is_one && n == 0 ? router_node : n + 1;
}

// Messages of the router to itself take effect in the same transaction.
bool MoveModel::deliver_to_itself(State &state) const
{
    while (setting_.router_is_one && state.to[0].count + state.from[0].count > 0)
        if (!deliver_to_shard(state, 0) && !deliver_to_router(state, 0))
            return false;
    return true;
}

// ---- producers

bool MoveModel::begin_on_router(State &state, int job) const
{
    const auto at = static_cast<std::size_t>(job);
    const bool comes_too_early =
        setting_.order == MoveOrder::strict && job > 0 && !has(state.born, job - 1);
    const bool has_begun = state.producers[at] != 0 || state.shards[0].producers[at] != 0 ||
                           state.shards[1].producers[at] != 0;
    if (!has(setting_.producers, router_node) || has(state.born, job) || has_begun ||
        comes_too_early)
        return false;
    state.producers[at] = static_cast<std::uint8_t>(1 + owner_seen(state));
    return true;
}

bool MoveModel::commit_on_router(State &state, int job) const
{
    std::uint8_t &seen = state.producers.at(static_cast<std::size_t>(job));
    if (seen == 0)
        return false;
    send(state, route(map_with_owner(seen - 1), router_node, the_slot).node, job_message({job}));
    seen = 0;
    put(state.born, job);
    return true;
}

bool MoveModel::begin_on_shard(State &state, int n, int job) const
{
    const auto at = static_cast<std::size_t>(job);
    ShardState &shard = state.shards.at(static_cast<std::size_t>(n));
    const bool comes_too_early =
        setting_.order == MoveOrder::strict && job > 0 && !has(state.born, job - 1);
    const bool has_begun = state.producers[at] != 0 || state.shards[0].producers[at] != 0 ||
                           state.shards[1].producers[at] != 0;
    if (!has(setting_.producers, n + 1) || has(state.born, job) || has_begun || comes_too_early ||
        shard.phase == SlotPhase::unknown ||
        (setting_.only_where_slot_is && must_go_back(shard.phase)))
        return false;
    shard.producers[at] = static_cast<std::uint8_t>(1 + static_cast<int>(shard.phase));
    return true;
}

namespace {

// A new or held job enters the table, or is a duplicate.
void accept(MoveState &state, int n, const SentJob &sent, bool has_key)
{
    ShardState &shard = state.shards.at(static_cast<std::size_t>(n));
    if (has_key && unfinished(shard) != 0) {
        put(shard.duplicate, sent.job);
        if (sent.was_accepted)
            state.wrong = duplicate_of_accepted;
        return;
    }
    put(shard.waiting, sent.job);
}

bool carry_out(MoveState &state, int n, Arrival verdict, const SentJob &sent, bool has_key)
{
    const auto at = static_cast<std::size_t>(n);
    if (verdict == Arrival::send_back || verdict == Arrival::forward) {
        if (is_full(state.from[at], 1))
            return false;
        push(state.from[at], job_message(sent));
    } else if (verdict == Arrival::hold) {
        hold(state.shards[at], sent);
    } else {
        accept(state, n, sent, has_key);
    }
    return true;
}

}  // namespace

// What a shard knows about an arriving job, by the phase that it sees. All jobs of the model belong
// to one slot, and have one key if they have any.
MovedJob MoveModel::as_seen(const ShardState &shard, SlotPhase phase, bool was_accepted,
                            std::size_t held_before) const
{
    const bool is_strict = setting_.order == MoveOrder::strict;
    MovedJob what{};
    what.has_key = setting_.have_key;
    what.was_accepted = was_accepted;
    what.key_runs_there = phase == SlotPhase::settling && shard.awaits_key != 0;
    what.key_is_used_here = setting_.have_key && unfinished(shard) != 0;
    what.is_behind_others = (setting_.have_key || is_strict) && held_before > 0;
    return what;
}

// Commits a job from the shard's own producer.
bool MoveModel::commit_on_shard(State &state, int n, int job) const
{
    ShardState &shard = state.shards.at(static_cast<std::size_t>(n));
    std::uint8_t &seen = shard.producers.at(static_cast<std::size_t>(job));
    if (seen == 0)
        return false;
    const auto phase = static_cast<SlotPhase>(seen - 1);
    seen = 0;
    put(state.born, job);
    const MovedJob what = as_seen(shard, phase, false, shard.held.count);
    const Arrival verdict = rules_.arrival(node_of(n), phase, setting_.order, what);
    return carry_out(state, n, verdict, {job}, setting_.have_key);
}

// ---- the router moves the slot

bool MoveModel::begin_move(State &state) const
{
    if (state.moves != 0 || state.moves_begun == setting_.most_moves || is_full(state.to[0], 1) ||
        is_full(state.to[1], 1))
        return false;
    ++state.moves_begun;
    state.moves = state.unseen = 1;
    state.move_from = state.owner;
    state.move_to = static_cast<std::uint8_t>(3 - state.owner);
    state.owner = state.move_to;
    for (const int node : {1, 2})
        send(state, node, phase_message(MessageKind::map, phase_at(state, node)));
    return true;
}

bool MoveModel::see_move(State &state) const
{
    if (state.unseen == 0)
        return false;
    state.unseen = 0;
    return true;
}

// No open producer has seen the old map any more.
bool MoveModel::tell_last(State &state) const
{
    const bool is_wanted = setting_.order == MoveOrder::strict && state.moves != 0 &&
                           state.unseen == 0 && state.told_last == 0;
    const auto has_seen_old_owner = [&](std::uint8_t seen) { return seen == 1 + state.move_from; };
    const auto has_seen_it_elsewhere = [&](std::uint8_t seen) {
        return setting_.router_is_one && seen != 0 &&
               must_go_back(static_cast<SlotPhase>(seen - 1));
    };
    const auto &own = state.shards[0].producers;
    const bool some_are_open =
        std::any_of(state.producers.begin(), state.producers.end(), has_seen_old_owner) ||
        std::any_of(own.begin(), own.end(), has_seen_it_elsewhere);
    if (!is_wanted || some_are_open)
        return false;
    state.told_last = 1;
    send(state, state.move_from, simple(MessageKind::last));
    return true;
}

// ---- messages

namespace {

void take_phase(ShardState &shard, SlotPhase phase)
{
    shard.phase = phase;
    shard.awaits_key = shard.has_returned = shard.told_key = shard.router_is_done = 0;
}

void forget_stale(ShardState &shard, Tail &tail)
{
    shard.waiting = static_cast<Bits>(shard.waiting & ~tail.stale);
    for (std::size_t i = tail.old_held; i-- > 0;)
        if (has(tail.stale, held_job(shard, i).job))
            let_go(shard, i);
    tail.stale = tail.old_held = 0;
}

}  // namespace

bool MoveModel::deliver_to_shard(State &state, int n) const
{
    const auto at = static_cast<std::size_t>(n);
    ShardState &shard = state.shards[at];
    if (state.to[at].count == 0 || is_full(state.from[at], 1))
        return false;
    const Message message = pop(state.to[at]);
    switch (message.kind) {
    case MessageKind::job: {
        const MovedJob what = as_seen(shard, shard.phase, message.was_accepted, shard.held.count);
        const Arrival verdict = rules_.arrival(node_of(n), shard.phase, setting_.order, what);
        return carry_out(state, n, verdict, sent_job(message), setting_.have_key);
    }
    case MessageKind::map:
        take_phase(shard, static_cast<SlotPhase>(message.value));
        return true;
    case MessageKind::last:
        shard.router_is_done = 1;
        return true;
    case MessageKind::returned:
        shard.phase = phase_after_returned(message.awaits_key);
        shard.awaits_key = message.awaits_key;
        return true;
    case MessageKind::released:
        shard.phase = SlotPhase::own;
        shard.awaits_key = 0;
        return true;
    case MessageKind::resynced: {
        const auto phase = static_cast<SlotPhase>(message.value);
        take_phase(shard, phase);
        forget_stale(shard, state.tail);
        shard.has_returned = message.has_returned;
        const bool is_awaited = phase == SlotPhase::leaving && message.awaits_key;
        shard.awaits_key = phase == SlotPhase::settling && message.awaits_key;
        shard.told_key = is_awaited;
        if (rules_.must_release(is_awaited, unfinished(shard) != 0) && releases_key(shard))
            push(state.from[at], simple(MessageKind::released));
        return true;
    }
    case MessageKind::none:
        break;
    }
    return false;
}

bool MoveModel::deliver_to_router(State &state, int n) const
{
    const auto at = static_cast<std::size_t>(n);
    if (state.from[at].count == 0 || is_full(state.to[0], 2) || is_full(state.to[1], 2))
        return false;
    const bool is_job = unpacked(state.from[at].messages[0]).kind == MessageKind::job;
    if (state.unseen != 0 && node_of(n) != router_node && (rules_.waits_for_moves || !is_job))
        return false;
    const Message message = pop(state.from[at]);
    Tail &tail = state.tail;
    if (n == 0 && tail.step == Tail::Step::lost_from_here)
        ++tail.received;
    if (n == 0 && tail.to_ignore > 0) {
        --tail.to_ignore;
        return true;
    }
    if (message.kind == MessageKind::job) {
        // If the router also plays a shard, both roles see a move at the same time.
        forward(state, message, node_of(n) == router_node ? state.owner : owner_seen(state));
        if (message.releases)
            take_released(state, n + 1);
    } else if (message.kind == MessageKind::returned) {
        take_returned(state, n + 1, message.awaits_key);
    } else {
        take_released(state, n + 1);
    }
    return true;
}

// ---- duties of a shard

// The oldest job first.
bool MoveModel::send_back(State &state, int n, int job) const
{
    const auto at = static_cast<std::size_t>(n);
    ShardState &shard = state.shards[at];
    const bool is_oldest = has(shard.waiting, job) && (shard.waiting & (bit(job) - 1)) == 0;
    if (!is_oldest || !rules_.must_go_back(shard.phase) || is_full(state.from[at], 1))
        return false;
    take(shard.waiting, job);
    push(state.from[at], job_message({job, true}, releases_key(shard)));
    return true;
}

// Lets in the first of the held jobs.
bool MoveModel::let_in_one(State &state, int n) const
{
    ShardState &shard = state.shards.at(static_cast<std::size_t>(n));
    if (shard.held.count == 0)
        return false;
    const auto held = [&](std::size_t i) {
        const SentJob job = held_job(shard, i);
        const bool by_id = setting_.order == MoveOrder::strict;
        return HeldJob{job.was_accepted,
                       by_id ? std::int64_t{job.job} : static_cast<std::int64_t>(i)};
    };
    std::size_t first = 0;
    for (std::size_t i = 1; i < shard.held.count; ++i)
        if (rules_.comes_before(held(i), held(first)))
            first = i;
    const SentJob job = held_job(shard, first);
    const MovedJob what = as_seen(shard, shard.phase, job.was_accepted, 0);
    const Arrival verdict = rules_.arrival(node_of(n), shard.phase, setting_.order, what);
    if (verdict == Arrival::hold)
        return false;
    let_go(shard, first);
    return carry_out(state, n, verdict, job, setting_.have_key);
}

bool MoveModel::look_at_held(State &state, int n) const
{
    if (!let_in_one(state, n))
        return false;
    if (setting_.order == MoveOrder::strict && rules_.lets_all_in_at_once)
        while (let_in_one(state, n)) {
        }
    return true;
}

bool MoveModel::say_returned(State &state, int n) const
{
    const auto at = static_cast<std::size_t>(n);
    ShardState &shard = state.shards[at];
    if (shard.phase != SlotPhase::leaving || shard.has_returned != 0 || is_full(state.from[at], 1))
        return false;
    const bool is_done =
        !has_old_producers(shard) && (node_of(n) == router_node || shard.router_is_done != 0);
    const bool waiting = shard.waiting != 0 || shard.held.count != 0;
    if (!rules_.may_say_returned(setting_.order, {waiting, shard.running != 0, is_done}))
        return false;
    const bool runs = setting_.have_key && unfinished(shard) != 0;
    shard.has_returned = 1;
    shard.told_key = runs;
    if (!runs)
        shard.phase = SlotPhase::elsewhere;
    Message message = simple(MessageKind::returned);
    message.awaits_key = runs;
    push(state.from[at], message);
    return true;
}

// The oldest job first.
bool MoveModel::claim(State &state, int n) const
{
    const bool order_is_promised = setting_.order == MoveOrder::strict && !setting_.tail_is_lost;
    ShardState &shard = state.shards.at(static_cast<std::size_t>(n));
    for (int job = 0; job < job_count; ++job) {
        if (!has(shard.waiting, job))
            continue;
        const MovedJob what = as_seen(shard, shard.phase, true, 0);
        if (!rules_.may_start_in(shard.phase, setting_.order, what))
            return false;
        take(shard.waiting, job);
        put(shard.running, job);
        if (order_is_promised && job > 0 && !has(state.started, job - 1))
            state.wrong = out_of_order;
        if (order_is_promised && state.shards.at(static_cast<std::size_t>(1 - n)).running != 0)
            state.wrong = on_two_nodes;
        put(state.started, job);
        return true;
    }
    return false;
}

bool MoveModel::finish(State &state, int n, int job) const
{
    const auto at = static_cast<std::size_t>(n);
    ShardState &shard = state.shards[at];
    if (!has(shard.running, job) || is_full(state.from[at], 1))
        return false;
    take(shard.running, job);
    put(shard.done, job);
    if (releases_key(shard))
        push(state.from[at], simple(MessageKind::released));
    return true;
}

bool MoveModel::fail(State &state, int n, int job) const
{
    ShardState &shard = state.shards.at(static_cast<std::size_t>(n));
    if (!setting_.may_retry || has(state.retried, job) || !has(shard.running, job))
        return false;
    take(shard.running, job);
    put(shard.waiting, job);
    put(state.retried, job);
    return true;
}

// ---- crashes

bool MoveModel::crash(State &state, int n) const
{
    ShardState &shard = state.shards.at(static_cast<std::size_t>(n));
    const bool has_nothing_to_lose =
        shard.running == 0 && shard.producers == decltype(shard.producers){};
    if (has_nothing_to_lose)
        return false;
    lose_uncommitted(shard);
    return true;
}

bool MoveModel::crash_router(State &state) const
{
    if (state.producers == decltype(state.producers){})
        return false;
    state.producers = {};
    return true;
}

}  // namespace hipq::test
