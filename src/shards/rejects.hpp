// What this node did not take: jobs, and letters.
#pragma once

#include "shards/letter_check.hpp"

namespace hipq::shards {

// Written to hipq.shard_reject here, and sent back to who sent the job.
void reject(const Letter &letter, pg::RawValue job, const pg::Error &error);
// The same of a job whose key an unfinished job has.
void reject_duplicate(const Letter &letter, pg::RawValue job);

// The same of a whole letter, as one row without a queue, and to who has brought it. Only a letter
// that itself tells of a reject is not answered.
void refuse(const Letter &letter, const OwnLine &line, const std::string &sqlstate,
            const std::string &message);

// The router has sent jobs again that had been refused, and says so by a letter without jobs, whose
// body has their ids: they are no rejects here any more, either. A shard believes its router alone.
void forget_resent(const Letter &letter);

}  // namespace hipq::shards
