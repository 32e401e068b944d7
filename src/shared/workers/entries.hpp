// Helpers for jobs.cpp and job_changes.cpp: entries of the table of jobs in flight that concern
// external workers.
#pragma once

#include "core/lanes/job_table.hpp"
#include "shared/memory/registry.hpp"
#include "shared/workers/jobs.hpp"

namespace hipq::workers {

inline bool has_worker(const core::JobEntry &job)
{
    return job.job_id != 0 && job.holder >= memory::worker_holder(0);
}

inline bool is_with_scheduler(const core::JobEntry &job)
{
    return job.holder >= memory::scheduler_holder(0) && job.holder < memory::worker_holder(0);
}

inline bool is_offered(const core::JobEntry &job)
{
    return job.phase == core::JobPhase::offered;
}

// Whether a transaction is about to accept the job, which was offered to a worker.
inline bool is_being_accepted(const core::JobEntry &job)
{
    return has_worker(job) && job.phase == core::JobPhase::running && !job.is_accepted;
}

inline core::RowPlace row_place(const ItemPointerData &place)
{
    return {ItemPointerGetBlockNumberNoCheck(&place), ItemPointerGetOffsetNumberNoCheck(&place)};
}

inline ItemPointerData item_pointer(core::RowPlace place)
{
    ItemPointerData pointer;
    ItemPointerSet(&pointer, place.block, place.line);
    return pointer;
}

inline std::int32_t place_of(const core::JobEntry &job)
{
    const bool is_offer = job.holder >= memory::offer_holder(0);
    return job.holder - (is_offer ? memory::offer_holder(0) : memory::worker_holder(0));
}

// Returns the entry of an attempt that a worker of this database has, or no_entry.
inline std::int32_t find_attempt(const core::JobTable &table, std::int64_t job_id, int attempt)
{
    const std::int32_t entry = table.find(MyDatabaseId, job_id);
    return entry != core::no_entry && has_worker(table.at(entry)) &&
                   table.at(entry).attempt == attempt
               ? entry
               : core::no_entry;
}

// How many jobs of the worker this transaction has ended so far (job_changes.cpp).
std::size_t own_ends(std::int64_t worker_id);

}  // namespace hipq::workers
