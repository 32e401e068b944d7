// Puts jobs in line that were to follow others, once those have finished.
#pragma once

#include "pg/spi.hpp"
#include "storage/catalogue.hpp"

namespace hipq::worker {

// In transactions of its own. Returns when to look again; the end of a job that has a successor wakes the scheduler before.
pg::Time put_successors_in_line(const storage::Catalogue &catalogue);

}  // namespace hipq::worker
