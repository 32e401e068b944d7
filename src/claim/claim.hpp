// Reading lanes and claiming jobs: for an executor or for an external worker. What other rooms may
// use.
#pragma once

#include "claim/audit.hpp"
#include "claim/batch.hpp"
#include "claim/claim_jobs.hpp"
#include "claim/claim_rows.hpp"
#include "claim/conditions.hpp"
#include "claim/dispatch_rows.hpp"
#include "claim/lane_rows.hpp"
#include "claim/lane_search.hpp"
#include "claim/lane_starts.hpp"
#include "claim/start_windows.hpp"
#include "claim/take_jobs.hpp"
#include "claim/weight.hpp"
#include "claim/worker_condition.hpp"
