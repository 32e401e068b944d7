// Keeps pg_cron's entries of schedules right when roles and databases are dropped or renamed.
#pragma once

#include "pg/clock.hpp"

namespace hipq::admin {

// Gives entries the names that the roles of their schedules and this database have now, and removes
// those whose role is gone: pg_cron's process ends at an entry of a role that does not exist, again
// at each start, and then no schedule of the server comes. Returns whether there is anything to
// keep right: not in a database that is held, without schedules, or from which pg_cron does not
// work. Needs a transaction.
bool mend_entries();

// For the scheduler: mends them once a minute, since roles are renamed and dropped in other
// databases, too. Returns when it wants to look again; no transaction open.
pg::Time look_after_entries(pg::Time now);

}  // namespace hipq::admin
