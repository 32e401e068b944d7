// Installs hipq's hooks, through which it sees statements of others.
#pragma once

namespace hipq::server {

// Whether this database has the extension; false outside a transaction.
bool is_installed();

// Utility hook: refuses to drop a role that owns a queue or has a schedule, and tells pg_cron a
// role's new name; has workers stand aside for commands on their database or the extension
// (database_commands.hpp); refuses PREPARE TRANSACTION where it must (job/two_phase.hpp), copies
// jobs (enqueue/copy_jobs.hpp) and wakes the scheduler after COMMIT PREPARED. Planner hook:
// replaces a NULL queue_id in an INSERT into a queue's table by the queue's number. Raises ERROR by
// longjmp.
void install_hooks();

}  // namespace hipq::server
