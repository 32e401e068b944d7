// The router as the authority for all shared limits of its instance.
#pragma once

#include "shards/permits/permit_letters.hpp"
#include "shards/permits/permit_rows.hpp"

namespace hipq::shards {

// Handles one limit in a transaction of the router. Locks the router's records of the limit,
// creates them if there are none, and follows changes of the limit and of the nodes.
class AuthorityTurn {
public:
    explicit AuthorityTurn(const SharedLimit &limit);

    void take(const core::PermitRequest &request);
    // Passes the turn to the next node. A node that has not asked for long counts as wanting
    // nothing.
    void look_after_all();
    // Tells nodes that have not been heard to ask.
    void call_unheard();

    // Takes the answers to the router itself as a node, which need no letter.
    void tell_router(core::PermitShare &share) const;
    bool has_news_for_router() const;
    // Writes the changes, and the answers to other nodes. Returns whether a node wants more than it
    // has or has not been heard: then the limit needs another look in a while.
    bool end(Answers &answers);

private:
    void add(const std::vector<core::PermitAnswer> &answers);
    StoredAuthority lock_or_make();
    void begin_anew(std::int64_t known_epoch);
    void follow_nodes();
    bool is_unused() const;

    const SharedLimit &limit_;
    core::PermitAuthority before_{};
    core::PermitAuthority authority_{};
    std::vector<int> silent_{};
    std::vector<core::PermitAnswer> answers_{};
};

// Takes the requests of a letter, and writes the answers to them. Call in the transaction that
// brings the letter.
void take_requests(const std::string &instance, int sender, pg::RawValue body);

}  // namespace hipq::shards
