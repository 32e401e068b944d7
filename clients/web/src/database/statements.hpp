// All statements of hipq-web: the one place that names views and columns of hipq.
//
// None reads more than a page of jobs: figures come from shared memory and the catalogue.
#pragma once

namespace hipq::web::statements {

// Who is signed in, and what to: one row.
extern const char *const identity;
// The first row has no name and the figures of all; then one for each queue: its name, its JSON.
extern const char *const overview;
// $1: a queue, or NULL for all.
extern const char *const throughput;

}  // namespace hipq::web::statements
