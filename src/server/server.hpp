// The processes and hooks: launcher, scheduler and executor. Declares what other rooms may use.
#pragma once

namespace hipq::server {

// ---- hooks ----

// Utility hook: refuses to drop a role that owns a queue or has a schedule, and tells pg_cron a
// role's new name; has workers stand aside for commands on their database or the extension
// (database_commands.hpp); refuses PREPARE TRANSACTION where it must (job/two_phase.hpp), copies
// jobs (enqueue/enqueue.hpp) and wakes the scheduler after COMMIT PREPARED. Planner hook:
// replaces a NULL queue_id in an INSERT into a queue's table by the queue's number. Raises ERROR by
// longjmp.
void install_hooks();

// ---- launcher ----

// Registers the launcher as a static worker while the library is preloaded. Raises ERROR by
// longjmp.
void register_launcher();

}  // namespace hipq::server
