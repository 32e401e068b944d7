// This node's shares of the limits that all nodes of an instance keep together: a duty of the
// scheduler.
#pragma once

#include "catalog/cache.hpp"
#include "core/shards/permit_needs.hpp"
#include "core/shards/permits.hpp"
#include "shards/shards.hpp"

namespace hipq::shards {

// Takes the answers of a letter. Call in the transaction that brings the letter.
void take_answers(const std::string &instance, int node, pg::RawValue body);

}  // namespace hipq::shards
