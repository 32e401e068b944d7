// What a promoted standby of a shard learns from the router when the end of its WAL is lost.
//
// Its tables are those of an earlier moment, while other nodes have seen what happened afterwards.
// So all its slots are SlotPhase::unknown at first: it starts no job, sends none back, and holds
// arriving jobs. The resync has three steps:
//
// 1. The router takes the messages that the shard still has for it.
// 2. The router sends again what the shard may have missed, in no order.
// 3. The last message tells the present state: the phase of each slot for the shard, the keys that
// others await from it, and the stale jobs in its tables.
//
// The router's last word about a job decides: the newest row of its outbox about the job. The
// router writes one for each job that it sends to a shard or receives from one, even if it keeps
// the job itself.
#pragma once

#include <cstdint>
#include <optional>

namespace hipq::core {

// Nothing: the router has never seen the job. It was enqueued on its shard and stayed there.
using LastWord = std::optional<int>;  // a node

// Returns whether to send again a row of the outbox that a node may have missed: only if it is the
// last word about its job.
bool is_sent_again(int node, const LastWord &last_word);

// Returns whether a job in a node's tables, in their state before the resync, must be removed: it
// has left since, and is on another node or comes again.
bool is_stale(int node, const LastWord &last_word, bool comes_again);

// Returns whether the node must report that a key is free which others have awaited since the
// node's predecessor sent `returned`. If no unfinished job here has the key, nothing else will
// trigger that message.
bool must_release(bool is_awaited, bool has_unfinished_job);

// The name of a message. The number alone is not enough: a promoted standby reuses numbers that its
// predecessor used in the lost time, and the receiver would take new messages for old ones.
struct MessageName {
    int sender;
    std::int64_t timeline;
    std::int64_t number;
    bool operator==(const MessageName &) const = default;
};

}  // namespace hipq::core
