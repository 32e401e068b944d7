// The final leaf for one moment of a queue, written without SQL: what INSERT would do, without
// planning, routing and checking each row anew.
#pragma once

#include "job/claimed_job.hpp"

namespace hipq::job {

// Needs a transaction. What it opens is closed by close(), or by the abort.
class FinalRows {
public:
    // Nothing: the leaf is not as hipq makes it (plain_table.hpp), or gone, and SQL has to do.
    static std::optional<FinalRows> open(const catalog::Queue &queue,
                                         std::span<const ClaimedJob> jobs, pg::Time now);

    // Writes those jobs, or some of them, which succeeded at the time given to open(), each with
    // its result: jsonb, or NULL. Needs an active snapshot.
    void insert_succeeded(std::span<const ClaimedJob> jobs, std::span<const pg::RawValue> results);

    void close();

private:
    struct Leaf;
    explicit FinalRows(Leaf *leaf) : leaf_(leaf) {}
    Leaf *leaf_;  // in the memory context that was current at open()
};

}  // namespace hipq::job
