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

// Whether a scheduler is dispatching the job, having claimed it for its worker.
inline bool is_being_dispatched(const core::JobEntry &job)
{
    return job.phase == core::JobPhase::running && job.holder >= memory::scheduler_holder(0) &&
           job.holder < memory::worker_holder(0);
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
    return job.holder - memory::worker_holder(0);
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

// Applies the changes of the current transaction to the jobs of a worker.
void add_own_changes(std::vector<ExternalJob> &jobs);

}  // namespace hipq::workers
