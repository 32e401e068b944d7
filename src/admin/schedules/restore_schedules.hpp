// Restores schedules that pg_cron has no job for, as after a restore into another server or
// database.
#pragma once

namespace hipq::admin {

// Gives the schedules back to pg_cron, or warns that pg_cron does not work from this database.
// Raises no error for a schedule that cannot be restored.
void restore_schedules_if_possible();

}  // namespace hipq::admin
