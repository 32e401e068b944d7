// Keeps pg_cron's entries of schedules right when roles and databases are dropped or renamed.
#pragma once

#include "pg/clock.hpp"

namespace hipq::admin {

// Gives entries the current names of their schedules' roles and of this database, and removes
// entries whose role is gone: pg_cron's process exits at an entry of a role that does not exist,
// again after each start, and then no schedule of the server runs. Returns whether there is
// anything to keep right: false in a database that is held, has no schedules, or is not the one
// that pg_cron works from. Needs a transaction.
bool mend_entries();

// For the scheduler: mends entries once a minute, because roles are renamed and dropped in other
// databases too. Returns the time of its next look. Call with no transaction open.
pg::Time look_after_entries(pg::Time now);

}  // namespace hipq::admin
