// Enqueues again the jobs that did not start because another one failed.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::admin {

// A failed job, and the new job that was made from it.
struct Remade {
    std::int64_t old_id;
    std::int64_t new_id;
    int queue_id;  // of the new job
};

// Makes new jobs of the jobs that did not start because of this one, held until the new jobs that
// they come after have ended. In their graph they take the names of the old ones. Needs control of
// their queues.
void redrive_dependents(const catalog::Catalogue &catalogue, const Remade &cause);

}  // namespace hipq::admin
