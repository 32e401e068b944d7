// What a promoted standby of a shard learns from the router when the end of its log is lost.
//
// Its tables are those of an earlier moment, while other nodes have seen what was done after that.
// So all its slots are SlotPhase::unknown to it first: it starts nothing, sends no job back, and
// holds what arrives. The resync has three steps:
//
// 1. The router takes the messages that the shard still has for it.
// 2. It sends again what the shard may not have got, in no order.
// 3. The last message says what is true now: what each slot is to the shard, which keys others
//    await from it, and which jobs in its tables are stale.
//
// What counts is the router's last word about a job: the newest row of its outbox that has it. It
// writes one for each job that it sends to a shard or gets from one, also if it takes the job
// itself.
#pragma once

#include <cstdint>
#include <optional>

namespace hipq::core {

// Nothing: the router has never seen the job. It was enqueued on its shard and has stayed there.
using LastWord = std::optional<int>;  // a node

// Whether a row of the outbox that a node may not have got is sent again: only while it is the last
// word about its job.
bool is_sent_again(int node, const LastWord &last_word);

// Whether a job in the tables of a node, as they were before the resync, has to be forgotten: it
// has left since, and is elsewhere or comes again.
bool is_stale(int node, const LastWord &last_word, bool comes_again);

// Whether the node has to say that a key is free which others await since its predecessor said
// `returned`: if no unfinished job here has the key, nothing else will lead to that message.
bool must_release(bool is_awaited, bool has_unfinished_job);

// The name of a message. A number alone is none: a promoted standby gives numbers again that its
// predecessor gave in the lost time, and the receiver would take new messages for old ones.
struct MessageName {
    int sender;
    std::int64_t timeline;
    std::int64_t number;
    bool operator==(const MessageName &) const = default;
};

}  // namespace hipq::core
