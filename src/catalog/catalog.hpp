// The interface of this room: instances, queues, job types and rights, read from the tables and
// cached in each process.
#pragma once

#include "catalog/cache.hpp"
#include "catalog/changes.hpp"
#include "catalog/checks.hpp"
#include "catalog/handler.hpp"
#include "catalog/identity.hpp"
#include "catalog/job_parameters.hpp"
#include "catalog/name_lock.hpp"
#include "catalog/queue_by_queue.hpp"
#include "catalog/queue_hold.hpp"
#include "catalog/queue_lock.hpp"
#include "catalog/queue_statements.hpp"
#include "catalog/read_handler.hpp"
#include "catalog/rights.hpp"
#include "catalog/routine.hpp"
#include "catalog/timeline.hpp"
#include "catalog/unregistered_types.hpp"
#include "catalog/visible_queues.hpp"
#include "catalog/worker_rows.hpp"
