// Reads the tables of the catalogue.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

// `has_holds`, `has_maps`: hipq.queue_hold and hipq.shard_map are there. What they say now, and the
// settings where they say nothing. Needs a transaction; raises what the statements raise.
std::shared_ptr<const Catalogue> read_catalogue(Oid job_ids, bool has_holds, bool has_maps);

// What the settings say about retries.
core::RetryPolicy default_policy();

}  // namespace hipq::catalog
