// The jobs of one call of enqueue() or enqueue_many(), without SQL: the rules of new_job.hpp, the
// rows of new_rows.hpp.
#pragma once

#include "enqueue/by_call.hpp"
#include "enqueue/new_job.hpp"
#include "enqueue/new_rows.hpp"

namespace hipq::enqueue {

// A whole row as it would be inserted, by the rules for new jobs, with an id.
job::RowValues new_job(const KnownCatalogue &catalogue, const catalog::Queue &queue,
                       const JobOptions &options, pg::RawValue data,
                       const std::optional<std::string> &key);

// What the options say about every job of a call, as a row that has neither data nor key.
job::RowValues chosen_values(const catalog::Queue &queue, const JobOptions &options);
// The same with its own, and checked.
job::RowValues checked_job(const job::RowValues &chosen, const catalog::Queue &queue,
                           pg::RawValue data, const std::optional<std::string> &key);

// What a key is unique within for a job with these values and data (core/shards/route.hpp): what
// its row will have.
std::string scope_of_key(const job::RowValues &chosen, const catalog::Queue &queue,
                         pg::RawValue data, const std::string &key);

// 40001 if what keys are unique within has changed since somebody looked for one: `present` is what
// the catalogue says while the live leaf is locked, so that it cannot change any more.
void demand_same_scope(const catalog::Queue &before, const catalog::Queue &present);

// Needs a transaction. What begin() opens is closed by end(), or by the abort.
class DirectEnqueue {
public:
    // Nothing: SQL has to do (NewRows::open).
    static std::optional<DirectEnqueue> begin(const catalog::Queue &queue,
                                              const JobOptions &options, NewRows::With with);

    // One job, and its id; nothing when its key is held, or the id drawn for it in use. `data` is
    // jsonb.
    std::optional<std::int64_t> insert_unless_taken(pg::RawValue data,
                                                    const std::optional<std::string> &key);
    // Jobs without key, and their ids; those of fewer jobs when an id is in use: then the
    // transaction has to end. `given_ids`: one for each, or none at all.
    std::vector<std::int64_t> insert(std::span<const pg::RawValue> data,
                                     std::span<const std::int64_t> given_ids = {});

    void end() { rows_.close(); }

private:
    DirectEnqueue(NewRows rows, KnownCatalogue catalogue, const catalog::Queue &queue,
                  const job::RowValues &chosen)
        : rows_(rows), catalogue_(std::move(catalogue)), queue_(&queue), chosen_(chosen)
    {
    }
    job::RowValues new_job(pg::RawValue data, const std::optional<std::string> &key) const;

    NewRows rows_;
    KnownCatalogue catalogue_;     // as it is under the lock of the leaf
    const catalog::Queue *queue_;  // its
    job::RowValues chosen_;        // what is said about every job
};

}  // namespace hipq::enqueue
