// Permits: a limit on running jobs that several nodes share and together never exceed.
//
// One node is the authority of a limit; each node has a share of it, and runs no more than that. A
// node that wants more, or has too much, sends a request; the authority answers. Two rules make the
// limit exact, whatever happens to messages:
//
// - A node lowers its share before it sends a request, in the same transaction. So the share that
//   the request names is no less than the share the node has.
// - The authority assumes the largest share that a node may have, and grants what is left beside
//   the shares that it assumes for the others.
//
// A lost, late or duplicated message makes the authority assume too much. That costs utilization,
// but never violates the limit. An answer refers to the last request of its node; the authority
// sends it again with a larger grant as others give up shares. A model goes through all orders of
// events, and loses and duplicates messages: test/unit/shards/permit_model.hpp.
//
// Both sides are plain data here. The caller keeps the data in tables and sends what these
// functions return.
#pragma once

#include "core/limits/throttle.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace hipq::core {

struct PermitRequest {
    int node;
    std::int64_t epoch;   // of the authority that receives the request
    std::int64_t serial;  // of the node's requests for this limit
    Weight keep;          // its share from now on
    Weight want;          // total of its running jobs and the jobs that could start
    Weight unit;          // of the next job that could start; 0: there is none
    bool operator==(const PermitRequest &) const = default;
};

struct PermitAnswer {
    int node;
    std::int64_t epoch;
    std::int64_t serial;  // of the answered request; it may have been answered before
    Weight grant;         // the share that the node may have
    Weight target;        // the share that it should have: if it has more, it gives up the rest
    Weight limit;
    bool is_all;  // the grant is the whole limit: no other node runs any job
    bool operator==(const PermitAnswer &) const = default;
};

// ---- the node ----

struct PermitShare {
    std::int64_t epoch = 0;   // the newest authority that it knows
    std::int64_t serial = 0;  // of its last request
    bool is_waiting = false;  // for the first answer to that request
    bool must_ask = false;    // the authority must hear from this node, whatever the node wants
    Weight share = 0;         // durable
    bool has_all = false;     // the whole limit
    Weight target = 0;
    Weight limit = 0;       // as far as known; 0: unknown
    Weight asked_want = 0;  // of the last request
    Weight asked_unit = 0;
    bool operator==(const PermitShare &) const = default;
};

// What the node wants to run now.
struct PermitNeed {
    Weight running;
    Weight want;  // including running jobs
    Weight unit;
};

// Returns whether a job of that weight may start. A job heavier than the limit runs alone, on a
// node that has the whole limit.
bool may_start(const PermitShare &share, Weight running, Weight weight);

// Returns whether a request would change anything: the node should give something up, wants more
// than the authority knows, or needs less. False while the node waits for an answer.
bool should_ask(const PermitShare &share, const PermitNeed &need);

// Returns whether a lost answer would matter. Then the node repeats its request every
// `permit_refresh`.
bool should_refresh(const PermitShare &share, const PermitNeed &need);
inline constexpr std::int64_t permit_refresh = 2'000'000;  // microseconds

// The share that remains after a request, unless more is running: the minimum of the share, its
// target and what is wanted.
Weight lowered_share(const PermitShare &share, const PermitNeed &need);

// Lowers the share to its target and to what is wanted, and makes the request. Commit the two
// together. (A node that keeps what it does not want makes others wait for two more messages:
// bench/shards-on-paper.)
PermitRequest ask(PermitShare &share, int node, const PermitNeed &need);

// Takes an answer. False: it does not belong to the last request, and changes nothing.
bool take_answer(PermitShare &share, const PermitAnswer &answer);

// Meets a new authority, which knows nothing yet: the node must send a request. False: the
// authority is not newer than the one that the node knows.
bool meet_authority(PermitShare &share, std::int64_t epoch);

// The node is a promoted standby whose tables may be old: it may have given up a share that is
// still in them. It starts with what still runs (in external workers), and must send a request.
void forget_share(PermitShare &share, Weight running);

// ---- the authority ----

struct PermitRecord {
    int node;
    bool is_heard = false;    // if not, the node may have any share
    std::int64_t serial = 0;  // of the last request that this authority received from the node
    Weight share = 0;         // the largest share that the node may have
    bool has_all = false;     // the node may also run a job heavier than the limit
    Weight want = 0;
    Weight unit = 0;
    Weight told_target = 0;
    bool operator==(const PermitRecord &) const = default;
};

struct PermitAuthority {
    std::int64_t epoch;  // increases with each authority of the limit
    Weight limit;
    std::size_t turn = 0;  // position in `records`
    std::vector<PermitRecord> records;
};

// Returns an authority that starts because the limit is new, its slot has arrived, or its server
// was promoted. It sends its epoch to all nodes.
PermitAuthority new_authority(std::int64_t epoch, Weight limit, const std::vector<int> &nodes);

// Takes a request. The result has the answer to it, then those to other nodes for which something
// changes. Empty: the request is stale, of another epoch, or from a node that does not share this
// limit. (A node that uses an older epoch must get the new one again.)
std::vector<PermitAnswer> take_request(PermitAuthority &authority, const PermitRequest &request);

// Gives the turn to the next node that wants to start a job, about every `permit_turn`, and returns
// the resulting answers.
std::vector<PermitAnswer> pass_turn(PermitAuthority &authority);
inline constexpr std::int64_t permit_turn = 500'000;  // microseconds

// Changes the limit and tells all nodes. After a decrease, shares exceed the limit until the nodes
// have given up weight and the jobs that run there have ended.
std::vector<PermitAnswer> set_limit(PermitAuthority &authority, Weight limit);

// The node has not sent a request for several `permit_refresh`: it is down or unreachable. It keeps
// its share, because it may run jobs, but what it wanted beyond that goes to others until its next
// request.
std::vector<PermitAnswer> pass_over(PermitAuthority &authority, int node);

// A new node has no share, so the authority need not hear from it. A dropped node must have been
// fenced: it must not run any job.
void add_node(PermitAuthority &authority, int node);
std::vector<PermitAnswer> drop_node(PermitAuthority &authority, int node);

}  // namespace hipq::core
