// Jobs and letters that this node did not take.
#pragma once

#include "shards/letter_check.hpp"
#include "shards/receive.hpp"

namespace hipq::shards {

// Writes the job to hipq.shard_reject here, and sends it back to its sender.
void reject(const Letter &letter, pg::RawValue job, const pg::Error &error);
// The same for a job whose key an unfinished job has.
void reject_duplicate(const Letter &letter, pg::RawValue job);

// The same for a whole letter, as one row without a queue, sent to the node that has brought it.
// Only a letter that reports a reject is not answered.
void refuse(const Letter &letter, const OwnLine &line, const std::string &sqlstate,
            const std::string &message);

// The router has resent rejected jobs, and says so in a letter without jobs whose body has their
// ids: they are no longer rejects here either. A shard trusts only its router in this.
void forget_resent(const Letter &letter);

}  // namespace hipq::shards
