// The session of an executor between two jobs.
#pragma once

namespace hipq::worker {

// Puts back what a handler may have left in the session: settings, role, advisory locks, prepared statements, cursors, LISTEN,
// temp tables, sequences' last values. Runs its own transaction.
void clean_session();

}  // namespace hipq::worker
