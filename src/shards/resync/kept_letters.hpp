// Letters that a node keeps in its outbox and another one has not received.
#pragma once

#include "shards/remote.hpp"

#include <optional>
#include <string>
#include <vector>

namespace hipq::shards {

// From a node of an instance to another one.
struct Line {
    std::string instance;
    int from;
    int to;
    Ask ask_sender;
    Ask ask_receiver;
    std::string since =
        "-infinity";  // letters from before are for a shard that had the number then
    std::optional<std::int64_t> whole{};  // the receiver has got newer ones, and lacks some before
};

struct KeptLetter {
    std::int64_t id;
    std::string kind;
    std::string json;  // the row of hipq.shard_outbox

    bool has_jobs() const { return kind == "jobs" || kind == "moved"; }
};

// Whether all that the receiver may not have got is kept. Letters arrive in their order, so he has
// had those that are not kept any more if he has had the oldest one that is.
bool are_all_kept(const Line &line);

// In the order of their numbers.
std::vector<KeptLetter> unread_letters(const Line &line);

// How many the receiver has got that the sender does not know, as far as it keeps any: a promoted
// standby has forgotten them.
std::int64_t letters_that_sender_forgot(const Line &line);

// The number of the newest one that the receiver has got, among those that he remembers; 0: none.
std::int64_t newest_read(const Line &line);

}  // namespace hipq::shards
