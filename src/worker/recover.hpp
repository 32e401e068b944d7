// Brings home jobs that nobody has in hand any more.
#pragma once

#include "storage/catalogue.hpp"

namespace hipq::worker {

// At the start of a scheduler: every job left in `running` or `error` that no executor has in hand. Own transactions.
void recover_left_jobs();

// Jobs whose executors ended while they ran. Own transactions.
void recover_orphans();

}  // namespace hipq::worker
