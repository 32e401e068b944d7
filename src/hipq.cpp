// _PG_init: settings, shared memory, hooks, launcher registration, in that order; the points of test builds.
#include "api/hooks.hpp"
#include "api/sight.hpp"
#include "pg/guard.hpp"
#include "pg/point.hpp"
#include "settings.hpp"
#include "shmem/clear_database.hpp"
#include "shmem/databases.hpp"
#include "shmem/decisions.hpp"
#include "shmem/ends.hpp"
#include "shmem/executors.hpp"
#include "shmem/external_jobs.hpp"
#include "shmem/flight_recorder.hpp"
#include "shmem/lanes.hpp"
#include "shmem/progress.hpp"
#include "shmem/registry.hpp"
#include "shmem/statistics.hpp"
#include "shmem/wake.hpp"
#include "shmem/workers.hpp"
#include "storage/catalogue.hpp"
#include "storage/handler.hpp"
#include "storage/job_row.hpp"
#include "storage/two_phase.hpp"
#include "storage/workers.hpp"
#include "worker/launcher.hpp"

extern "C" {
#pragma GCC visibility push(default)
PG_MODULE_MAGIC;
void _PG_init(void);
#pragma GCC visibility pop
}

namespace {

// What each room keeps there, in the order in which locks are taken.
void keep_shared_memory()
{
    using namespace hipq::shmem;
    for (const Part *part : {&executors_part, &flight_recorder_part, &decisions_part, &ends_part, &databases_part, &lanes_part,
                             &external_jobs_part, &workers_part, &statistics_part, &progress_part})
        add_part(*part);
    install_hooks();
}

}  // namespace

// Loaded by shared_preload_libraries: everything. Loaded later, by the first call of a function: enqueueing, rights and views
// work, nothing runs.
void _PG_init()
{
    hipq::pg::enter([] {
        hipq::settings::define();
        if (process_shared_preload_libraries_in_progress)
            keep_shared_memory();
        hipq::shmem::watch_commits();
        hipq::shmem::watch_marks();
        hipq::shmem::watch_workers();
        hipq::shmem::watch_worker_places();
        hipq::shmem::watch_external_jobs();
        hipq::shmem::watch_decisions();
        hipq::shmem::watch_statistics();
        hipq::storage::watch_two_phase();
        hipq::storage::watch_catalogue();
        hipq::storage::watch_worker_services();
        hipq::storage::watch_job_relations();
        hipq::storage::watch_routines();
        hipq::api::watch_sight();
        hipq::api::install_hooks();
        if (process_shared_preload_libraries_in_progress)
            hipq::worker::register_launcher();
        if (process_shared_preload_libraries_in_progress)
            hipq::pg::prepare_points();
    });
}
