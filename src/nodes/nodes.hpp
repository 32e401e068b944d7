// The interface of this room: calls by the ids of jobs on other nodes of a sharded instance, and
// jobs that are sent to other nodes.
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
