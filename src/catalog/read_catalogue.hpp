// Reads the tables of the catalogue.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

// What the tables say now, and the settings where they say nothing. Needs a transaction; raises
// what the statements raise.
std::shared_ptr<const Catalogue> read_catalogue(Oid job_ids);

// What the settings say about retries.
core::RetryPolicy default_policy();

}  // namespace hipq::catalog
