// _PG_init: defines settings, sets up shared memory and hooks, and registers the launcher, in that
// order; also the points of test builds.
#include "catalog/changes.hpp"
#include "catalog/handler.hpp"
#include "catalog/visible_queues.hpp"
#include "catalog/worker_rows.hpp"
#include "execute/execute.hpp"
#include "job/job_row.hpp"
#include "job/two_phase.hpp"
#include "monitor/monitor.hpp"
#include "pg/guard.hpp"
#include "pg/point.hpp"
#include "server/server.hpp"
#include "settings.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/databases/dirty_queues.hpp"
#include "shared/databases/rounds.hpp"
#include "shared/executors/breaker_notes.hpp"
#include "shared/executors/cancellations.hpp"
#include "shared/executors/clear_database.hpp"
#include "shared/executors/executor_slots.hpp"
#include "shared/executors/pending_decisions.hpp"
#include "shared/flight/flight_recorder.hpp"
#include "shared/lanes/in_flight_table.hpp"
#include "shared/lanes/lane_table.hpp"
#include "shared/lanes/parked_key_table.hpp"
#include "shared/lanes/run_time_table.hpp"
#include "shared/memory/alerts.hpp"
#include "shared/memory/registry.hpp"
#include "shared/statistics/counters.hpp"
#include "shared/wakeup/commit.hpp"
#include "shared/wakeup/completion_waiters.hpp"
#include "shared/wakeup/watched_jobs.hpp"
#include "shared/workers/jobs.hpp"
#include "shared/workers/offers.hpp"
#include "shared/workers/progress.hpp"
#include "shared/workers/registered.hpp"
#include "tables/leaf_requests.hpp"

extern "C" {
#pragma GCC visibility push(default)
PG_MODULE_MAGIC;
void _PG_init(void);
#pragma GCC visibility pop
}

namespace {

// When dynamic_library_path has changed since the start of the server, new processes find another
// file than the one that is preloaded.
void refuse_second_library()
{
    if (hipq::settings::are_defined())
        HIPQ_RAISE(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                   errmsg("another file of the library of hipq is loaded"),
                   errdetail("dynamic_library_path leads to library version %s in another folder.",
                             HIPQ_VERSION),
                   errhint("Restart the server, or set dynamic_library_path back."));
}

// Registers the parts of shared memory of all rooms.
void keep_shared_memory()
{
    using namespace hipq;
    for (const memory::Part *part :
         {&memory::alerts_part, &lanes::run_times_part, &lanes::in_flight_part,
          &executors::executors_part, &flight::flight_recorder_part, &executors::decisions_part,
          &wakeup::ends_part, &wakeup::watched_part, &databases::databases_part,
          &databases::dirty_queues_part, &databases::rounds_part, &lanes::lanes_part,
          &lanes::parked_keys_part, &workers::external_jobs_part, &workers::workers_part,
          &statistics::statistics_part, &workers::progress_part, &tables::leaf_requests_part})
        memory::add_part(*part);
    memory::install_hooks();
}

}  // namespace

// If shared_preload_libraries loads the library: everything. If the first call of a function loads
// it: enqueueing, privileges and views work, but no job runs.
void _PG_init()
{
    hipq::pg::enter([] {
        refuse_second_library();
        hipq::settings::define();
        if (process_shared_preload_libraries_in_progress)
            keep_shared_memory();
        hipq::wakeup::watch_commits();
        hipq::executors::watch_marks();
        hipq::workers::watch_workers();
        hipq::workers::watch_offers();
        hipq::workers::watch_external_jobs();
        hipq::executors::watch_breakers();  // after external jobs: it is called before them
        hipq::executors::watch_decisions();
        hipq::executors::watch_cancellations();
        hipq::statistics::watch_statistics();
        hipq::job::watch_two_phase();
        hipq::catalog::watch_catalogue();
        hipq::catalog::watch_worker_services();
        hipq::job::watch_job_relations();
        hipq::catalog::watch_routines();
        hipq::catalog::watch_visible_queues();
        hipq::server::install_hooks();
        hipq::monitor::install_job_scan();
        hipq::execute::listen_to_handlers();
        if (process_shared_preload_libraries_in_progress)
            hipq::server::register_launcher();
        if (process_shared_preload_libraries_in_progress)
            hipq::pg::prepare_points();
    });
}
