// Enqueues successors whose predecessors have finished.
#pragma once

#include "catalog/catalog.hpp"
#include "pg/spi.hpp"

namespace hipq::enqueue {

// Runs its own transactions. Returns when to look again; the end of a job that has a successor
// wakes the scheduler earlier.
pg::Time enqueue_successors(const catalog::Catalogue &catalogue);

}  // namespace hipq::enqueue
