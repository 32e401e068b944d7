// What shared memory knows of executors: their slots, their shares, how their jobs are stopped.
// What other rooms may use.
#pragma once

#include "executors/cancellations.hpp"
#include "executors/clear_database.hpp"
#include "executors/executor_list.hpp"
#include "executors/freed_capacity.hpp"
#include "executors/orphans.hpp"
#include "executors/own_executor.hpp"
#include "executors/pending_decisions.hpp"
#include "executors/prefetched.hpp"
#include "executors/put_off.hpp"
#include "executors/reserve.hpp"
#include "executors/running_jobs.hpp"
#include "executors/shares.hpp"
#include "executors/slots.hpp"
#include "executors/start_failures.hpp"
#include "executors/stop_control.hpp"
