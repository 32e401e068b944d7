// In which queues a job may be, by the indexes on id alone.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::job {

// Whether the tables of a queue may have a row with one of these ids. True also of rows that nobody
// sees any more or not yet, and of a table that somebody has locked: who reads it finds out. Every
// row that the active snapshot sees is found, wherever it moves meanwhile. Plans no statement,
// opens no table and keeps no lock: some 10 us for each queue. Needs a transaction.
bool may_have(const catalog::Queue &queue, const std::vector<std::int64_t> &ids);

}  // namespace hipq::job
