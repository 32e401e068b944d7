// A model of a router and two shards that move one slot between them: its states, and the possible
// next events. All decisions are those of core/shards; the model does what a database does with
// them.
//
// A step is a transaction. Producers have two: one reads the map, and one commits. A move has two,
// too: shards read of it as soon as it is on disk, and the router's other processes see it later
// (with a synchronous standby: much later).
// Streams keep their order. A crash loses what was not committed: open producers, and attempts,
// whose jobs wait again.
//
// With `tail_is_lost` shard 1 has a standby that stops following at some time, and is promoted
// later: all commits of shard 1 in between are lost, while other nodes know of them.
#pragma once

#include "core/shards/moves.hpp"
#include "core/shards/resync.hpp"
#include "core/shards/route.hpp"

#include <array>
#include <cstdint>

namespace hipq::test {

using core::Arrival;
using core::LastWord;
using core::Leaving;
using core::Move;
using core::MovedJob;
using core::MoveOrder;
using core::SlotPhase;

inline constexpr int job_count = 2;
inline constexpr int queue_capacity = 8;
using Bits = std::uint8_t;  // a bit for each job, or a boolean

// The rules of core/shards that the model uses. A test replaces one of them by a broken rule, to
// check that the model finds the violation.
struct MoveRules {
    Arrival (*arrival)(int, SlotPhase, MoveOrder, const MovedJob &) = core::arrival;
    bool (*comes_before)(const core::HeldJob &, const core::HeldJob &) = core::comes_before;
    bool (*may_start_in)(SlotPhase, MoveOrder, const MovedJob &) = core::may_start_in;
    bool (*must_go_back)(SlotPhase) = core::must_go_back;
    bool (*may_say_returned)(MoveOrder, const Leaving &) = core::may_say_returned;
    bool (*is_sent_again)(int, const LastWord &) = core::is_sent_again;
    bool (*is_stale)(int, const LastWord &, bool) = core::is_stale;
    bool (*must_release)(bool, bool) = core::must_release;
    // Not rules of core, but of its callers.
    bool waits_for_moves = true;        // the router accepts jobs only when it sees all begun moves
    bool lets_all_in_at_once = true;    // in strict order
    bool names_timelines = true;        // in messages (core::MessageName)
    bool waits_after_promotion = true;  // slots are unknown until the resync
    bool reads_before_resync = true;    // the remaining messages of the promoted shard
};

struct MoveSetting {
    bool have_key = true;  // both jobs have the same key
    MoveOrder order = MoveOrder::by_key;
    int most_moves = 2;
    bool may_retry = true;  // each attempt may fail once
    bool tail_is_lost = false;
    bool router_is_one = false;  // the router itself plays shard 1; its streams to itself are empty
    Bits producers = 0b111;      // on which nodes
    bool only_where_slot_is = false;  // shards' producers begin only at the slot's node
};

enum class MessageKind : std::uint8_t { none, job, map, last, returned, released, resynced };

// A message in one byte.
struct Message {
    MessageKind kind = MessageKind::none;
    std::uint8_t value = 0;     // the job, or the phase
    bool was_accepted = false;  // job
    bool releases = false;      // job: its key is free where it comes from
    bool awaits_key = false;    // returned, resynced
    bool has_returned = false;  // resynced: the job has returned
};
std::uint8_t packed(const Message &message);
Message unpacked(std::uint8_t byte);

struct MessageQueue {
    std::uint8_t count;
    std::array<std::uint8_t, queue_capacity> messages;
};

struct HeldList {
    std::uint8_t count;
    std::array<std::uint8_t, job_count + 2> jobs;  // as message bits
};

struct ShardState {
    SlotPhase phase;
    Bits awaits_key;    // the job runs at the old node
    Bits has_returned;  // the old node has reported it
    Bits told_key;      // with the key in this report; the old node must release it
    Bits router_is_done;
    Bits waiting, running, done, duplicate;
    HeldList held;
    std::array<std::uint8_t, job_count> producers;  // of each job: 1 + the phase it has seen
};

struct Tail {
    enum class Step : std::uint8_t { none, lost_from_here, promoted, resynced };
    Step step;
    ShardState standby;                        // its state when it stopped following
    MessageQueue to_router;                    // messages of shard 1 to the router at that time
    std::uint8_t received;                     // of these, received by the router since then
    std::array<std::uint8_t, job_count> kept;  // sent to shard 1 since then, as messages
    std::uint8_t to_ignore;                    // by a receiver that ignores timelines
    Bits stale;                                // jobs that the resync calls stale
    std::uint8_t old_held;                     // number of held jobs that the standby had
};

struct MoveState {
    std::array<ShardState, 2> shards;
    std::array<MessageQueue, 2> to, from;
    std::uint8_t owner;
    Bits moves;   // a move is under way
    Bits unseen;  // just committed: only the process that began it sees it
    std::uint8_t move_from, move_to;
    Bits has_returned, awaits_key, told_last;
    std::uint8_t moves_begun;
    std::array<std::uint8_t, job_count> producers;  // on the router: 1 + the owner it has seen
    std::array<std::uint8_t, job_count> last_word;  // 0: none
    Bits born, retried, started;
    std::uint8_t wrong;  // a fault that a step has found
    Tail tail;
};

class MoveModel {
public:
    using State = MoveState;
    explicit MoveModel(const MoveSetting &setting, const MoveRules &rules = {});

    State start() const;
    const char *fault(const State &state) const;
    bool is_end(const State &state) const;

    template <typename Emit>
    void each_next(const State &state, Emit &&emit) const;

    const MoveSetting &setting() const { return setting_; }
    const MoveRules &rules() const { return rules_; }

    // Each of these does one step, or returns that the step is not possible now. `n`: a shard, 0 or
    // 1; `job`: a job.
    bool begin_on_router(State &state, int job) const;
    bool commit_on_router(State &state, int job) const;
    bool begin_on_shard(State &state, int n, int job) const;
    bool commit_on_shard(State &state, int n, int job) const;
    bool begin_move(State &state) const;
    bool see_move(State &state) const;
    bool tell_last(State &state) const;
    bool deliver_to_shard(State &state, int n) const;
    bool deliver_to_router(State &state, int n) const;
    bool send_back(State &state, int n, int job) const;
    bool let_in_one(State &state, int n) const;
    bool look_at_held(State &state, int n) const;
    bool say_returned(State &state, int n) const;
    bool claim(State &state, int n) const;
    bool finish(State &state, int n, int job) const;
    bool fail(State &state, int n, int job) const;
    bool crash(State &state, int n) const;
    bool crash_router(State &state) const;
    bool stop_following(State &state) const;
    bool promote(State &state) const;
    bool resync(State &state, bool backwards) const;

private:
    bool deliver_to_itself(State &state) const;
    int node_of(int n) const;
    MovedJob as_seen(const ShardState &shard, SlotPhase phase, bool was_accepted,
                     std::size_t held_before) const;

    MoveSetting setting_;
    MoveRules rules_;
};

template <typename Emit>
void MoveModel::each_next(const State &state, Emit &&emit) const
{
    const auto attempt = [&](const char *what, auto &&step) {
        State next = state;
        if (step(next) && deliver_to_itself(next))
            emit(next, what);
    };
    attempt("the router begins a move", [&](State &next) { return begin_move(next); });
    attempt("the router sees the move", [&](State &next) { return see_move(next); });
    attempt("the router says last", [&](State &next) { return tell_last(next); });
    attempt("the router crashes", [&](State &next) { return crash_router(next); });
    attempt("the standby of 1 stops to follow", [&](State &next) { return stop_following(next); });
    attempt("the standby of 1 is promoted", [&](State &next) { return promote(next); });
    attempt("resync", [&](State &next) { return resync(next, false); });
    attempt("resync, backwards", [&](State &next) { return resync(next, true); });
    for (int job = 0; job < job_count; ++job) {
        attempt(job == 0 ? "a begins on the router" : "b begins on the router",
                [&](State &next) { return begin_on_router(next, job); });
        attempt(job == 0 ? "a commits on the router" : "b commits on the router",
                [&](State &next) { return commit_on_router(next, job); });
    }
    for (int n = 0; n < 2; ++n) {
        const auto on_shard = [&](std::array<const char *, 2> what, auto &&step) {
            attempt(what[static_cast<std::size_t>(n)], step);
        };
        on_shard({"1 gets a message", "2 gets a message"},
                 [&](State &next) { return deliver_to_shard(next, n); });
        on_shard({"the router gets a message of 1", "the router gets a message of 2"},
                 [&](State &next) { return deliver_to_router(next, n); });
        on_shard({"1 looks at what it holds", "2 looks at what it holds"},
                 [&](State &next) { return look_at_held(next, n); });
        on_shard({"1 says returned", "2 says returned"},
                 [&](State &next) { return say_returned(next, n); });
        on_shard({"1 starts a job", "2 starts a job"}, [&](State &next) { return claim(next, n); });
        on_shard({"1 crashes", "2 crashes"}, [&](State &next) { return crash(next, n); });
        for (int job = 0; job < job_count; ++job) {
            const auto with_job = [&](std::array<const char *, 4> what, auto &&step) {
                attempt(what[static_cast<std::size_t>(2 * n + job)], step);
            };
            with_job({"a begins on 1", "b begins on 1", "a begins on 2", "b begins on 2"},
                     [&](State &next) { return begin_on_shard(next, n, job); });
            with_job({"a commits on 1", "b commits on 1", "a commits on 2", "b commits on 2"},
                     [&](State &next) { return commit_on_shard(next, n, job); });
            with_job({"1 sends a back", "1 sends b back", "2 sends a back", "2 sends b back"},
                     [&](State &next) { return send_back(next, n, job); });
            with_job({"1 finishes a", "1 finishes b", "2 finishes a", "2 finishes b"},
                     [&](State &next) { return finish(next, n, job); });
            with_job({"a fails on 1", "b fails on 1", "a fails on 2", "b fails on 2"},
                     [&](State &next) { return fail(next, n, job); });
        }
    }
}

}  // namespace hipq::test
