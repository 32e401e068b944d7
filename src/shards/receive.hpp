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
};

// Has it take effect, once, if it is for this node. False: it is not, and is stored like any other
// row. Raises what keeps the stream from going on: nothing has changed then.
bool receive(const Letter &letter);

// The same for one that is known to be for this node. False: it has taken effect before.
bool take_once(const Letter &letter);

}  // namespace hipq::shards
