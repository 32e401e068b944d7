// The row of a job: live and final leaves, the small tables beside them, and every way a job
// changes after its claim. What other rooms may use.
#pragma once

#include "job/aimed_jobs.hpp"
#include "job/claimed_job.hpp"
#include "job/current_job.hpp"
#include "job/dead_letter_rows.hpp"
#include "job/find_job.hpp"
#include "job/finish.hpp"
#include "job/fitting_data.hpp"
#include "job/job_row.hpp"
#include "job/job_status.hpp"
#include "job/live_rows.hpp"
#include "job/lock_attempt.hpp"
#include "job/log_rows.hpp"
#include "job/made_by_handler.hpp"
#include "job/note_waiting.hpp"
#include "job/own_checks.hpp"
#include "job/plain_table.hpp"
#include "job/set_aside.hpp"
#include "job/successor_rows.hpp"
#include "job/tally.hpp"
#include "job/two_phase.hpp"
