// Schedules that pg_cron has no job for, as after a restore into another server or database.
#pragma once

namespace hipq::admin {

// Gives them back to pg_cron, or warns that it does not work from this database. Raises nothing
// about a schedule that cannot be.
void restore_schedules_if_possible();

}  // namespace hipq::admin
