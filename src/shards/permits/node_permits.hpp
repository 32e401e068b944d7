// This node's shares of the limits that all nodes of an instance keep together: a duty of the
// scheduler.
#pragma once

#include "catalog/catalog.hpp"
#include "core/shards/permit_needs.hpp"
#include "core/shards/permits.hpp"
#include "shards/permits/shared_limits.hpp"

namespace hipq::shards {

// What is known here of a share.
struct KnownShare {
    SharedLimit limit;
    core::PermitShare share{};
    bool is_read = false;                 // from its row
    std::vector<std::uint64_t> chosen{};  // lanes::begin_share(): those who may not know of it
    bool is_counted = false;              // all that runs counts
    core::PermitDemand demand{};
    core::PermitNeed need{};
    bool is_open = false;  // on the router: somebody wants more, or is not heard
};

// What a scheduler keeps between its looks.
struct Shares {
    std::shared_ptr<const catalog::Catalogue> catalogue{};
    SharedLimits limits{};  // of that catalogue
    std::map<LimitKey, KnownShare> known{};
    std::map<int, std::vector<int>> nodes{};  // of instances whose router this is
    bool is_changed = false;                  // the catalogue, since the last look
    bool has_sharded = false;                 // an instance
    bool are_keys_awaited = false;            // on the router: somebody wants more of one
    pg::Time last{0};                         // look
    pg::Time last_refresh{0};
    pg::Time last_turn{0};
    pg::Time next = pg::infinity;
};

// A catalogue that is another than before. No transaction open.
void note_catalogue(Shares &shares, const std::shared_ptr<const catalog::Catalogue> &catalogue);

// Looks what is needed, asks for more, gives back. Returns when to be called again; infinity, and
// nothing done, where no limit is shared. No transaction open.
pg::Time keep_shares(Shares &shares);

// Takes the answers of a letter. In the transaction that brings it.
void take_answers(const std::string &instance, int node, pg::RawValue body);

}  // namespace hipq::shards
