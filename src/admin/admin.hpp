// What owners and operators do to queues and jobs: create and change queues, describe a set-up,
// cancel, retry, move, pause, schedule, and deal with dead letters. Declares what other rooms may
// use.
#pragma once

#include "admin/queues/described_queues.hpp"
#include "admin/queues/sections.hpp"
#include "admin/queues/table_name.hpp"
#include "admin/schedules/cron_entries.hpp"
#include "admin/schedules/mend_entries.hpp"
#include "admin/schedules/restore_schedules.hpp"
#include "admin/schedules/schedule_rows.hpp"
