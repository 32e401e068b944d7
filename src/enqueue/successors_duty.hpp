// Enqueues jobs that were to follow others, once those have finished.
#pragma once

#include "catalog/catalog.hpp"
#include "pg/spi.hpp"

namespace hipq::enqueue {

// In transactions of its own. Returns when to look again; the end of a job that has a successor
// wakes the scheduler before.
pg::Time enqueue_successors(const catalog::Catalogue &catalogue);

}  // namespace hipq::enqueue
