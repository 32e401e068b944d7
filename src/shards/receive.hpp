// Rows of other nodes' outboxes as they arrive.
#pragma once

#include "pg/spi.hpp"

namespace hipq::shards {

// A row of hipq.shard_outbox.
struct Letter {
    std::int64_t id;
    pg::Time sent;
    std::string instance;
    int sender;
    int node;
    std::string kind;
    std::string queue;                    // within the instance
    pg::RawValue jobs;                    // jsonb[]
    pg::RawValue body;                    // jsonb
    bool is_let_in = false;               // its jobs were held, and must not be held again
    bool was_accepted = kind == "moved";  // its jobs were in the table of another node
    bool comes_again = false;             // brought by a resync, not by its stream
};

// Applies a letter that a subscription has brought, once; a bad letter becomes a reject. Returns
// false if the subscription does not connect nodes; then the letter is stored like any other row.
// Raises errors that stop the stream; then nothing has changed.
[[nodiscard]] bool receive(const Letter &letter, const std::string &subscription);

// The same for a kept letter that a superuser hands over. Returns false if it has already taken
// effect. Raises 55000 unless this server takes letters from the sender.
[[nodiscard]] bool receive_by_hand(const Letter &letter);

}  // namespace hipq::shards
