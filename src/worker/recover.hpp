// Brings home jobs that nobody has in hand any more.
#pragma once

#include "storage/catalogue.hpp"

namespace hipq::worker {

// Both run their own transactions, and return false when a job may still be left: somebody holds its row, or the list of
// decisions is full. Then recover_left_jobs() is due again.

// Every job left in `running` or `error` that no executor has in hand. Reads the live leaves whole.
bool recover_left_jobs();

// Jobs whose executors ended while they ran.
bool recover_orphans();

}  // namespace hipq::worker
