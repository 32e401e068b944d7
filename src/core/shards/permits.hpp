// A limit on running jobs that several nodes keep together, never above it: permits.
//
// One node is the authority of a limit; each node has a share of it, and runs no more than that.
// Who wants more, or has too much, asks; the authority answers. Two rules make it exact, whatever
// happens to messages:
//
// - A node lowers its share before it asks, in the same transaction; so what it says it keeps is no
//   less than what it has.
// - The authority believes in the largest share a node may have, and grants what is left beside the
//   shares that it believes the others have.
//
// A message that is lost, late or doubled makes the authority believe in too much. That costs use,
// never the limit. An answer is for the last request of its node; the authority sends it again with
// more as others give up. A model goes through all orders of events, and loses and doubles
// messages: test/unit/shards/permit_model.hpp.
//
// Both sides are plain data here; who calls these functions keeps the data in tables and sends what
// they return.
#pragma once

#include "core/limits/throttle.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace hipq::core {

struct PermitRequest {
    int node;
    std::int64_t epoch;   // of the authority that is asked
    std::int64_t serial;  // of the node's requests for this limit
    Weight keep;          // its share from now on
    Weight want;          // of its running jobs and those that could start, together
    Weight unit;          // of the next job that could start; 0: there is none
    bool operator==(const PermitRequest &) const = default;
};

struct PermitAnswer {
    int node;
    std::int64_t epoch;
    std::int64_t serial;  // of the request that is answered, maybe not for the first time
    Weight grant;         // the share that the node may have
    Weight target;        // the share that it should have: if it has more, it gives the rest up
    Weight limit;
    bool is_all;  // the grant is all of the limit: nobody else runs anything
    bool operator==(const PermitAnswer &) const = default;
};

// ---- the node ----

struct PermitShare {
    std::int64_t epoch = 0;   // the newest authority that it has heard of
    std::int64_t serial = 0;  // of its last request
    bool is_waiting = false;  // for the first answer to it
    bool must_ask = false;    // the authority needs to hear of it, whatever it wants
    Weight share = 0;         // durable
    bool has_all = false;     // of the limit
    Weight target = 0;
    Weight limit = 0;       // as far as it is known; 0: not yet
    Weight asked_want = 0;  // by the last request
    Weight asked_unit = 0;
    bool operator==(const PermitShare &) const = default;
};

// What the node wants to run now.
struct PermitNeed {
    Weight running;
    Weight want;  // with what runs
    Weight unit;
};

// Whether a job of that weight may start. One that is heavier than the limit runs alone, on a node
// that has all of the limit.
bool may_start(const PermitShare &share, Weight running, Weight weight);

// Whether a request would change anything: the node should give something up, wants more than
// the authority knows, or needs less. Not while an answer is awaited.
bool should_ask(const PermitShare &share, const PermitNeed &need);

// Whether an answer that was lost would matter. Then the node asks again, each `permit_refresh`.
bool should_refresh(const PermitShare &share, const PermitNeed &need);
inline constexpr std::int64_t permit_refresh = 2'000'000;  // microseconds

// What a request leaves of the share, unless more runs: what it should be, and what is wanted.
Weight lowered_share(const PermitShare &share, const PermitNeed &need);

// Lowers the share, to what it should be and to what is wanted, and makes the request: to be
// committed together. (Who keeps what it does not want makes others wait for two more messages:
// bench/shards-on-paper.)
PermitRequest ask(PermitShare &share, int node, const PermitNeed &need);

// Takes an answer. False: it is not for the last request, and changes nothing.
bool take_answer(PermitShare &share, const PermitAnswer &answer);

// There is a new authority, which knows nothing yet: the node has to ask. False: it is no newer
// than the one that the node knows.
bool meet_authority(PermitShare &share, std::int64_t epoch);

// The node is a promoted standby whose tables may be old: a share in them may be one that it has
// given up since. It starts with what still runs (in external workers), and asks.
void forget_share(PermitShare &share, Weight running);

// ---- the authority ----

struct PermitRecord {
    int node;
    bool is_heard = false;    // if not, the node may have any share
    std::int64_t serial = 0;  // of the last request that this authority has had from it
    Weight share = 0;         // the largest that the node may have
    bool has_all = false;     // and may run a job that is heavier than the limit
    Weight want = 0;
    Weight unit = 0;
    Weight told_target = 0;
    bool operator==(const PermitRecord &) const = default;
};

struct PermitAuthority {
    std::int64_t epoch;  // grows with each authority of the limit
    Weight limit;
    std::size_t turn = 0;  // position in `records`
    std::vector<PermitRecord> records;
};

// An authority that starts, because the limit is new, its slot has come, or its server was
// promoted. It sends its epoch to all nodes.
PermitAuthority new_authority(std::int64_t epoch, Weight limit, const std::vector<int> &nodes);

// Takes a request. First of the result is the answer to it, then those to others for whom something
// changes. Empty: the request is stale, or of another epoch, or the node is none of this limit's.
// (A node that asks in an older epoch has to be told the new one again.)
std::vector<PermitAnswer> take_request(PermitAuthority &authority, const PermitRequest &request);

// Gives the turn to the next node that wants to start something, each `permit_turn` or so, and
// returns the answers that follow.
std::vector<PermitAnswer> pass_turn(PermitAuthority &authority);
inline constexpr std::int64_t permit_turn = 500'000;  // microseconds

// A changed limit: all nodes are told. If it is lower, shares are above it until the nodes have
// given up and what runs there has ended.
std::vector<PermitAnswer> set_limit(PermitAuthority &authority, Weight limit);

// A node has not asked for some times `permit_refresh`: it is down, or cannot be reached. It keeps
// its share, as it may run jobs, but what it wanted beyond that goes to others until it asks again.
std::vector<PermitAnswer> pass_over(PermitAuthority &authority, int node);

// A new node has no share, and so need not be heard. A dropped one must have been fenced: it
// must not run anything any more.
void add_node(PermitAuthority &authority, int node);
std::vector<PermitAnswer> drop_node(PermitAuthority &authority, int node);

}  // namespace hipq::core
