// Connects one node with another: publish, keep, subscribe.
#pragma once

#include <string>

namespace hipq::shards {

// Publishes the outbox rows for a node under a name. Each function does nothing if it has been
// done.
void publish(const std::string &publication, const std::string &instance, int node);
// Call in a transaction that has written nothing.
void keep_wal(const std::string &slot);
// publisher_version: server_version_num there.
void subscribe(const std::string &publication, const std::string &publisher, int publisher_version);

// Undo the above, in the same manner. The subscription is gone after the commit of unsubscribe();
// then the other node can drop the publication with its slot.
void unsubscribe(const std::string &publication);
void unpublish(const std::string &publication);

}  // namespace hipq::shards
