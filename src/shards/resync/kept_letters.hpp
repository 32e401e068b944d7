// Letters that a node keeps in its outbox and another one has not received.
#pragma once

#include "shards/remote.hpp"

#include <optional>
#include <string>
#include <vector>

namespace hipq::shards {

// The connection from a node of an instance to another one.
struct Line {
    std::string instance;
    int from;
    int to;
    Ask ask_sender;
    Ask ask_receiver;
    std::string since = "-infinity";      // older letters are for a former shard with that number
    std::optional<std::int64_t> whole{};  // the receiver has newer ones, and lacks some before them
};

struct KeptLetter {
    std::int64_t id;
    std::string kind;
    std::string json;  // the row of hipq.shard_outbox

    bool has_jobs() const { return kind == "jobs" || kind == "moved"; }
};

// Returns whether all letters that the receiver may lack are kept. Letters arrive in order: if the
// receiver has received the oldest kept letter, it has received the deleted ones before it, too.
bool are_all_kept(const Line &line);

// In the order of their numbers.
std::vector<KeptLetter> unread_letters(const Line &line);

// Returns the number of letters that the receiver has and the sender does not know, as far as it
// keeps any: a promoted standby has forgotten them.
std::int64_t letters_that_sender_forgot(const Line &line);

// Returns the number of the newest letter that the receiver remembers; 0: none.
std::int64_t newest_read(const Line &line);

}  // namespace hipq::shards
