// What a node does with jobs of a slot while the slot moves from one node to another.
//
// The router changes its map and tells both nodes. The old node sends the slot's waiting jobs back
// to the router, which forwards them; running jobs end where they are. Then the old node sends
// `returned`, with the keys that still run, and `released` for each of these keys when it is free.
// Streams from node to node keep their order, and a node commits a message together with its
// effects. So after `returned` the new node has everything except those keys. In strict order the
// old node sends `returned` when no job runs any more, so there are no such keys.
//
// A model that goes through all orders of events shows that no job is lost, none runs twice and no
// two jobs of a key run at once, whatever crashes: test/unit/shards/move_model.hpp.
#pragma once

#include <cstdint>

namespace hipq::core {

// The state of a slot, as seen by a node.
enum class SlotPhase : std::uint8_t {
    elsewhere,  // it belongs to another node
    leaving,    // it belongs to another node, but its jobs and keys are still leaving
    incoming,   // it belongs to this node, but the old node has not yet sent back everything
    settling,   // it belongs to this node, but some keys still run at the old node
    own,
    unknown,  // on a promoted standby that does not know the present state yet (resync.hpp)
};

// The order in which the new node starts jobs.
enum class MoveOrder : std::uint8_t {
    by_key,  // within each job type and key; other jobs start at once
    strict,  // within the slot: jobs enqueued on the router in the order of its commits, and also
             // jobs enqueued on a shard while it has the slot
};

// A move as the router knows it, until the last key is released. Until then the slot does not move
// again.
struct Move {
    int from;
    int to;
    bool has_returned;  // the old node has sent `returned`
};

// Returns the state of a slot for a node by the router's map: from the map's messages, and after a
// resync (resync.hpp). `move`: null if the slot does not move.
SlotPhase phase_of(int node, int owner, const Move *move);

// The phase after `returned` has arrived.
SlotPhase phase_after_returned(bool awaits_keys);

// The facts about a job where it arrives, or where it is to start.
struct MovedJob {
    bool has_key = false;
    // The table of a queue accepted the job before; it comes from there, not from a producer.
    bool was_accepted = false;
    // The job's key still runs at the old node, which named it in `returned`.
    bool key_runs_there = false;
    // Another unfinished job in this node's table has the key.
    bool key_is_used_here = false;
    // Older jobs are held here: jobs of the same key, or in strict order of the same slot.
    bool is_behind_others = false;
};

enum class Arrival : std::uint8_t {
    accept,     // into the queue's table, as if it were enqueued here
    hold,       // until the result is accept
    send_back,  // to the router
    forward,    // from the router to the node that has the slot
};

// Decides about a job that arrives from a producer or in a message, and again about each held job.
// A job that was accepted before can no longer be a duplicate: if its key is in use, it waits until
// the key is free. A new arrival stays behind older held jobs.
//
// Messages alone must not let held jobs in: a producer whose transaction began earlier may hold one
// more job afterwards. So a duty of the scheduler checks the held jobs periodically.
Arrival arrival(int node, SlotPhase phase, MoveOrder order, const MovedJob &job);

// Which held job is let in first: jobs that were accepted before, because newer ones may be their
// duplicates. Then by arrival, or in strict order by id.
//
// In strict order a single transaction lets in all held jobs of a slot. So no reader sees a younger
// job without an older one, and the table starts its oldest job first, in whatever order they came.
struct HeldJob {
    bool was_accepted;
    std::int64_t place;  // when it arrived; in strict order its id
};
bool comes_before(const HeldJob &a, const HeldJob &b);

// Returns whether a job in the table may start. The transaction that enqueued it may have begun
// before the slot moved, even away and back, so not every job in the table may.
bool may_start_in(SlotPhase phase, MoveOrder order, const MovedJob &job);

// Returns whether waiting jobs of a slot are sent back to the router: jobs present when the slot
// leaves, late ones, and running ones that are to be retried.
bool must_go_back(SlotPhase phase);

// What the old node knows about its part of a move. All of it must come from one snapshot.
struct Leaving {
    bool has_waiting_jobs;  // in the table or held
    bool has_running_jobs;
    bool producers_are_done;  // no more jobs enqueued by the old map can follow: all transactions
                              // here that may know that map have ended, and a shard has received
                              // the message `last`, with which the router says the same of itself
};

// Returns whether the old node may send `returned`. Strict order waits for `last`, and so for
// transactions that are open on the router; by key, a job of such a transaction is sent back later,
// and does no harm. Strict order also waits for running jobs. So a slot never runs on two nodes at
// once, and a job that fails, or whose server crashes, returns before the younger ones start.
bool may_say_returned(MoveOrder order, const Leaving &leaving);

}  // namespace hipq::core
