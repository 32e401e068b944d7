// What the functions about schedules have in common.
#pragma once

#include "admin/schedules/schedule_rows.hpp"

namespace hipq::admin {

// Finds a schedule that the caller may know of. No queue: in any queue. Raises 42704, or 42P08 for
// a name that several schedules have.
Schedule require_schedule(const catalog::Catalogue &catalogue, const std::string &name,
                          const std::optional<std::string> &queue_name);

// Returns the next run by pg_cron's clock. Nothing: it never runs, or the server does not know the
// zone.
std::optional<pg::Time> next_cron_run(const core::Cron &cron, std::optional<pg::Time> last);

}  // namespace hipq::admin
