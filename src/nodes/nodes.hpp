// What other nodes of a sharded instance are asked: calls by the ids of jobs. What other rooms may
// use.
#pragma once

#include "nodes/as_text.hpp"
#include "nodes/dblink.hpp"
#include "nodes/find_node.hpp"
#include "nodes/held_jobs.hpp"
#include "nodes/job_json.hpp"
#include "nodes/made_jobs.hpp"
#include "nodes/old_rejects.hpp"
#include "nodes/outbox_limit.hpp"
#include "nodes/outbox_rows.hpp"
#include "nodes/placement.hpp"
#include "nodes/unread.hpp"
