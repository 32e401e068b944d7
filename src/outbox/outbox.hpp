// What goes from one node of a sharded instance to another. What other rooms may use.
#pragma once

#include "outbox/held_jobs.hpp"
#include "outbox/job_json.hpp"
#include "outbox/made_jobs.hpp"
#include "outbox/old_rejects.hpp"
#include "outbox/parcels.hpp"
#include "outbox/placement.hpp"
#include "outbox/room.hpp"
#include "outbox/unread.hpp"
