// Where hipq listens in on statements of others.
#pragma once

namespace hipq::server {

// Whether this database has the extension; false outside a transaction.
bool is_installed();

// Utility hook: refuses to drop a role that owns a queue or has a schedule, and tells pg_cron of a
// role's new name; has workers stand aside for commands on their database or the extension
// (database_commands.hpp); refuses PREPARE TRANSACTION where it must (job/two_phase.hpp), copies
// jobs (enqueue/copy_jobs.hpp) and wakes the scheduler after COMMIT PREPARED. Planner hook: a NULL
// for queue_id in an INSERT into a queue's table becomes the queue's number. PostgreSQL regime.
void install_hooks();

}  // namespace hipq::server
