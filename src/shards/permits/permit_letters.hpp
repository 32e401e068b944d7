// Requests for shares, and answers, as letters: one for all limits that a node has news of.
#pragma once

#include "catalog/cache.hpp"
#include "shards/permits/permit_rows.hpp"

namespace hipq::shards {

inline constexpr std::string_view permit_ask = "permit_ask";        // from a shard to the router
inline constexpr std::string_view permit_answer = "permit_answer";  // from the router to a shard

// An answer without a serial number tells a node that there is a new authority, which it has to
// ask.
inline core::PermitAnswer call_to_ask(int node, const core::PermitAuthority &authority)
{
    return {node, authority.epoch, 0, 0, 0, authority.limit, false};
}

// Takes an answer, or hears of a new authority. Returns false if that changes nothing.
inline bool hear(core::PermitShare &share, const core::PermitAnswer &answer)
{
    return answer.epoch > share.epoch ? core::meet_authority(share, answer.epoch)
                                      : core::take_answer(share, answer);
}

// For a transaction that sends letters about shares: it commits, and is sent and visible here, as
// soon as it is on this server's disk. It does not wait for synchronous standbys, because shares
// have no value on another timeline. (Subscriptions do not wait for the disk either when they
// commit.)
void commit_at_once();

// Collects the letters of one instance, and sends them together.
class Requests {
public:
    void add(const SharedLimit &limit, const core::PermitRequest &request);
    void send(const catalog::Queue &queue) const;
    bool empty() const { return epochs_.empty(); }

private:
    std::vector<std::string> queues_, types_;
    std::vector<std::int64_t> keys_, epochs_, serials_, keeps_, wants_, units_;
};

class Answers {
public:
    void add(const std::string &queue, const LimitKey &key, const core::PermitAnswer &answer);
    void send(const std::string &instance) const;

private:
    std::vector<std::string> queues_, types_;
    std::vector<std::int64_t> nodes_, keys_, epochs_, serials_, grants_, targets_, limits_,
        are_all_;
};

// Read a letter, in the order of keys, for queues that exist here.
std::vector<std::pair<LimitKey, core::PermitRequest>> read_requests(const std::string &instance,
                                                                    int sender, pg::RawValue body);
std::vector<std::pair<LimitKey, core::PermitAnswer>> read_answers(const std::string &instance,
                                                                  int node, pg::RawValue body);

}  // namespace hipq::shards
