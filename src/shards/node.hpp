// What one node does to be connected with another: publish, keep, subscribe.
#pragma once

#include <string>

namespace hipq::shards {

// Rows of the outbox that are for a node, under a name. Each does nothing if it is done.
void publish(const std::string &publication, const std::string &instance, int node);
// In a transaction that has written nothing.
void keep_wal(const std::string &slot);
// publisher_version: server_version_num there.
void subscribe(const std::string &publication, const std::string &publisher, int publisher_version);

// The way back, in the same manner. What unsubscribe() ends is gone after the commit; then the
// other node can forget the publication with its slot.
void unsubscribe(const std::string &publication);
void unpublish(const std::string &publication);

}  // namespace hipq::shards
