// The router as the authority of all shared limits of its instance.
#pragma once

#include "shards/permits/permit_letters.hpp"

namespace hipq::shards {

// One limit, in a transaction of the router. Locks what it has of the limit, begins if that is
// nothing yet, and follows the set-up: the limit, and who is there.
class AuthorityTurn {
public:
    explicit AuthorityTurn(const SharedLimit &limit);

    void take(const core::PermitRequest &request);
    // The next node comes first, and those who are silent want nothing.
    void look_after_all();
    // Those who have not been heard are told to ask.
    void call_unheard();

    // What was answered to the router as a node, which needs no letter.
    void tell_router(core::PermitShare &share) const;
    bool has_news_for_router() const;
    // Writes what has changed, and the answers to others. Returns whether somebody wants what he
    // does not have, or is not heard: it is to be looked after again in a while.
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

// Takes the requests of a letter, and writes the answers that follow. In the transaction that
// brings it.
void take_requests(const std::string &instance, int sender, pg::RawValue body);

}  // namespace hipq::shards
