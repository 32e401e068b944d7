// Entries of the table of jobs in flight that are about external workers: what jobs.cpp and
// notes.cpp know of them.
#pragma once

#include "shared/memory/registry.hpp"
#include "shared/workers/jobs.hpp"

namespace hipq::workers {

inline bool has_worker(const core::JobEntry &job)
{
    return job.job_id != 0 && job.holder >= memory::worker_holder(0);
}

// By a scheduler, which has claimed it for its worker.
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

// An attempt that a worker of this database has; no_entry: there is none.
inline std::int32_t find_attempt(const core::JobTable &table, std::int64_t job_id, int attempt)
{
    const std::int32_t entry = table.find(MyDatabaseId, job_id);
    return entry != core::no_entry && has_worker(table.at(entry)) &&
                   table.at(entry).attempt == attempt
               ? entry
               : core::no_entry;
}

// Changes jobs of a worker as the transaction at hand sees them.
void add_own_changes(std::vector<ExternalJob> &jobs);

}  // namespace hipq::workers
