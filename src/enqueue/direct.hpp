// Enqueues the jobs of one call of enqueue() or enqueue_many() without SQL, by the rules of
// new_job.hpp and the rows of new_rows.hpp.
#pragma once

#include "catalog/cache.hpp"
#include "enqueue/enqueue.hpp"
#include "enqueue/new_job.hpp"
#include "enqueue/new_rows.hpp"
#include "job/job_row.hpp"

namespace hipq::enqueue {

// A whole row as it would be inserted, by the rules for new jobs, with its id.
job::RowValues new_job(const KnownCatalogue &catalogue, const catalog::Queue &queue,
                       const JobOptions &options, pg::RawValue data,
                       const std::optional<std::string> &key);

// The values that the options give to every job of a call, as a row without data and key.
job::RowValues chosen_values(const catalog::Queue &queue, const JobOptions &options);
// The same with the data and key of one job, checked.
job::RowValues checked_job(const job::RowValues &chosen, const catalog::Queue &queue,
                           pg::RawValue data, const std::optional<std::string> &key);

// The scope in which a key is unique for a job with these values and data (core/shards/route.hpp),
// as its row will contain it.
std::string scope_of_key(const job::RowValues &chosen, const catalog::Queue &queue,
                         pg::RawValue data, const std::string &key);

// Raises 40001 if the scope of keys has changed since a key was looked up. `present` is the queue
// in the catalogue while the live leaf is locked, so that it cannot change any more.
void demand_same_scope(const catalog::Queue &before, const catalog::Queue &present);

// Needs a transaction. end() closes what begin() has opened, or the abort does.
class DirectEnqueue {
public:
    // Nothing: the caller must use SQL (NewRows::open).
    static std::optional<DirectEnqueue> begin(const catalog::Queue &queue,
                                              const JobOptions &options, NewRows::With with);

    // Inserts one job and returns its id; nothing if its key is held, or if the id drawn for it is
    // in use. `data` is jsonb.
    std::optional<std::int64_t> insert_unless_taken(pg::RawValue data,
                                                    const std::optional<std::string> &key,
                                                    DrawnId id = std::nullopt);
    // Inserts jobs without key and returns their ids; fewer ids if an id is in use, and then the
    // transaction must be aborted. `drawn_ids`: one for each job, or none at all.
    std::vector<std::int64_t> insert(std::span<const pg::RawValue> data,
                                     std::span<const std::int64_t> drawn_ids = {});

    void end() { rows_.close(); }

private:
    DirectEnqueue(NewRows rows, KnownCatalogue catalogue, const catalog::Queue &queue,
                  const job::RowValues &chosen)
        : rows_(rows), catalogue_(std::move(catalogue)), queue_(&queue), chosen_(chosen)
    {
    }
    job::RowValues new_job(pg::RawValue data, const std::optional<std::string> &key,
                           DrawnId id) const;

    NewRows rows_;
    KnownCatalogue catalogue_;     // the catalogue under the lock of the leaf
    const catalog::Queue *queue_;  // a queue of this catalogue
    job::RowValues chosen_;        // the values for every job
};

}  // namespace hipq::enqueue
