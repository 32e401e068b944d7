// Who is woken when a transaction commits, and who waits for the end of a job. What other rooms may
// use.
#pragma once

#include "wakeup/commit.hpp"
#include "wakeup/completion_waiters.hpp"
#include "wakeup/prepared.hpp"
