// Finds how jobs of a queue have ended, by the indexes on id without SQL.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::flow {

enum class FoundEnd : unsigned char {
    unfinished,
    success,
    failure,  // also: skipped, or gone without a trace
    unknown,  // a table is not as hipq creates it; the caller must use SQL
};

// Needs a transaction, and an active snapshot, by which it reads. close() closes what it has
// opened, or the abort does.
class EndIndex {
public:
    static EndIndex open(const catalog::Queue &queue);
    FoundEnd end_of(std::int64_t id);
    void close();

private:
    struct Leaf;
    struct Tables;
    explicit EndIndex(Tables *tables) : tables_(tables) {}
    Tables *tables_;  // in the memory context that was current at open()
};

}  // namespace hipq::flow
