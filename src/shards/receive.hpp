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
    bool is_let_in = false;               // its jobs were held, and are not to be held any more
    bool was_accepted = kind == "moved";  // its jobs were in the table of another node
    bool comes_again = false;             // a resync brings it, and not its stream
};

// Has a letter that a subscription has brought take effect, once; one that is bad becomes a reject.
// False: it is no subscription that connects nodes, and the letter is stored like any other row.
// Raises what keeps the stream from going on: nothing has changed then.
bool receive(const Letter &letter, const std::string &subscription);

// The same for one that was kept, and is handed over by a superuser. False: it has taken effect
// before. Raises 55000 unless this server takes letters from who has sent it.
bool receive_by_hand(const Letter &letter);

}  // namespace hipq::shards
