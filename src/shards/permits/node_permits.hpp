// This node's shares of the limits that all nodes of an instance keep together: a duty of the
// scheduler.
#pragma once

#include "catalog/catalog.hpp"
#include "core/shards/permit_needs.hpp"
#include "core/shards/permits.hpp"
#include "shards/permits/shared_limits.hpp"

namespace hipq::shards {

// What this node knows of a share.
struct KnownShare {
    SharedLimit limit;
    core::PermitShare share{};
    bool is_read = false;  // from its row
    std::vector<std::uint64_t>
        chosen{};             // lanes::begin_share(): claimers that may not know of the share
    bool is_counted = false;  // all running jobs are counted
    core::PermitDemand demand{};
    core::PermitNeed need{};
    bool is_open = false;  // on the router: a node wants more, or has not been heard
};

// The state that a scheduler keeps between looks.
struct Shares {
    std::shared_ptr<const catalog::Catalogue> catalogue{};
    SharedLimits limits{};  // of that catalogue
    std::map<LimitKey, KnownShare> known{};
    std::map<int, std::vector<int>> nodes{};  // of instances whose router this server is
    bool is_changed = false;                  // the catalogue has changed since the last look
    bool has_sharded = false;                 // there is a sharded instance
    bool are_keys_awaited = false;            // on the router: a node wants more of a throttle key
    pg::Time last{0};                         // last look
    pg::Time last_refresh{0};
    pg::Time last_turn{0};
    pg::Time next = pg::infinity;
};

// Call after the catalogue has changed, with no transaction open.
void note_catalogue(Shares &shares, const std::shared_ptr<const catalog::Catalogue> &catalogue);

// Finds out what is needed, asks for more, gives back the rest. Returns when to call it again; if
// no limit is shared, does nothing and returns infinity. Call with no transaction open.
pg::Time keep_shares(Shares &shares);

// Takes the answers of a letter. Call in the transaction that brings the letter.
void take_answers(const std::string &instance, int node, pg::RawValue body);

}  // namespace hipq::shards
