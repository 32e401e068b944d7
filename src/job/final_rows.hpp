// Writes rows to the final leaf of a queue for one point in time without SQL: the work of INSERT
// without planning, routing and checking each row.
#pragma once

#include "catalog/cache.hpp"
#include "job/claimed_job.hpp"

namespace hipq::job {

// Needs a transaction. close() closes what it has opened, or the abort does.
class FinalRows {
public:
    // Nothing: the leaf does not exist or is not as hipq creates it (plain_table.hpp); the caller
    // must use SQL.
    static std::optional<FinalRows> open(const catalog::Queue &queue,
                                         std::span<const ClaimedJob> jobs, pg::Time now);

    // Writes these jobs or some of them. They succeeded at the time given to open(), each with its
    // result: jsonb, or NULL. Needs an active snapshot.
    void insert_succeeded(std::span<const ClaimedJob> jobs, std::span<const pg::RawValue> results);

    // The same for jobs that have failed, or were not wanted any more, before they started.
    struct Unstarted {
        std::string_view error;
        std::string_view reason;
        pg::RawValue result;  // jsonb
    };
    void insert_unstarted(std::span<const ClaimedJob> jobs, std::span<const Unstarted> ends);

    void close();

private:
    template <class RowOf>
    void insert(std::span<const ClaimedJob> jobs, const RowOf &row_of);

    struct Leaf;
    explicit FinalRows(Leaf *leaf) : leaf_(leaf) {}
    Leaf *leaf_;  // in the memory context that was current at open()
};

// The same for one job by SQL, whatever the leaf is like; no reason: the row keeps its own. As the
// extension owner.
void insert_final(const catalog::Queue &queue, const ClaimedJob &job, std::string_view error,
                  const std::optional<std::string> &reason, pg::RawValue result, pg::Time now);

}  // namespace hipq::job
