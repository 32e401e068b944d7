// Schedules that pg_cron runs. What other rooms may use.
#pragma once

#include "schedules/cron_entries.hpp"
#include "schedules/mend_entries.hpp"
#include "schedules/restore_schedules.hpp"
#include "schedules/rows.hpp"
