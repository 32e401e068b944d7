// What a node does with jobs of a slot while the slot moves from one node to another.
//
// The router flips its map and tells both nodes. The old one sends the slot's waiting jobs back, to
// be forwarded; what runs there ends there. Then it says `returned`, with the keys that still run,
// and for each of them `released` when it is free. Streams from node to node keep their order, and
// a node commits a message together with what it does about it. So what the new node has after
// `returned` is all there is, but for those keys. In strict order it says `returned` when nothing
// runs any more, so there are none.
//
// That nothing is lost, nothing runs twice and no two jobs of a key run at once, whatever crashes,
// is shown by a model that goes through all orders of events: test/unit/shards/move_model.hpp.
#pragma once

#include <cstdint>

namespace hipq::core {

// What a slot is to a node.
enum class SlotPhase : std::uint8_t {
    elsewhere,  // another node's
    leaving,    // another node's; here until its jobs and keys have gone
    incoming,   // its own; the old node has not sent back everything yet
    settling,   // its own; some keys still run at the old node
    own,
    unknown,  // a promoted standby that has not heard what is true now (resync.hpp)
};

// In which order the new node starts jobs.
enum class MoveOrder : std::uint8_t {
    by_key,  // of each job type and key; others start at once
    strict,  // of the slot: those that were enqueued on the router, in the order of its commits;
             // also those enqueued on a shard while it has the slot
};

// A move as the router knows it, until the last key is released. A slot does not move again before.
struct Move {
    int from;
    int to;
    bool has_returned;  // the old node has said `returned`
};

// What a slot is to a node, by the router's map: in what the map's messages say, and after a
// resync (resync.hpp). `move`: null if the slot does not move.
SlotPhase phase_of(int node, int owner, const Move *move);

// `returned` has come.
SlotPhase phase_after_returned(bool awaits_keys);

// What is known of a job where it arrives, or where it is to start.
struct MovedJob {
    bool has_key = false;
    // By a queue's table: it comes from there, and not from a producer.
    bool was_accepted = false;
    // At the old node, which has named the key in `returned`.
    bool key_runs_there = false;
    // By another unfinished job in this node's table.
    bool key_is_used_here = false;
    // Older ones are held here: of its key; in strict order of its slot.
    bool is_behind_others = false;
};

enum class Arrival : std::uint8_t {
    accept,     // into the queue's table, as if it were enqueued here
    hold,       // until accept is the answer
    send_back,  // to the router
    forward,    // from the router, to the node that has the slot
};

// What to do with a job that arrives, from a producer or in a message, and again with each that is
// held. A job that was accepted before can be no duplicate any more: if its key is used, it waits
// until the key is free. What arrives stays behind older jobs that are held.
//
// A message alone must not be what lets held jobs in: a producer whose transaction began before may
// hold one more after it. So a duty of the scheduler looks at those that are held, again and again.
Arrival arrival(int node, SlotPhase phase, MoveOrder order, const MovedJob &job);

// Of jobs that are held, which is let in first: those that were accepted before, which newer ones
// may be duplicates of. Then by arrival, or in strict order by id.
//
// In strict order all that a slot holds is let in by one transaction. So nobody sees a younger job
// without an older one, and the table starts its oldest first, however they have come.
struct HeldJob {
    bool was_accepted;
    std::int64_t place;  // when it arrived; in strict order its id
};
bool comes_before(const HeldJob &a, const HeldJob &b);

// Whether a job in the table may start. Not all that are there may: a transaction that enqueued it
// can have begun before the slot moved, even away and back.
bool may_start_in(SlotPhase phase, MoveOrder order, const MovedJob &job);

// Whether waiting jobs of a slot are sent back to the router: those that are there when the slot
// leaves, late ones, and running ones when they are to be retried.
bool must_go_back(SlotPhase phase);

// What the old node knows of its part of a move. All of it must be of one snapshot.
struct Leaving {
    bool has_waiting_jobs;  // in the table or held
    bool has_running_jobs;
    bool producers_are_done;  // no job follows that was enqueued by the old map: all transactions
                              // here have ended that may know it, and a shard has had the message
                              // `last`, which says so of the router
};

// Whether the old node may say `returned`. Strict order waits for `last`, and so for transactions
// that are open on the router; by key such a job is sent back later, and does no harm. It waits
// for what runs, too: so a slot never runs on two nodes at once, and a job that fails, or whose
// server crashes, comes back before the younger ones start.
bool may_say_returned(MoveOrder order, const Leaving &leaving);

}  // namespace hipq::core
