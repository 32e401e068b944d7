// Running handlers: the session, the call, deadlines, cancellation, group durability. What other
// rooms may use.
#pragma once

#include "execute/attempt.hpp"
#include "execute/attempt_log.hpp"
#include "execute/bookkeeping.hpp"
#include "execute/cancellable.hpp"
#include "execute/client_restrictions.hpp"
#include "execute/client_session.hpp"
#include "execute/deadline.hpp"
#include "execute/durability.hpp"
#include "execute/run_handler.hpp"
#include "execute/session.hpp"
#include "execute/stop_overdue.hpp"
#include "execute/stop_watch.hpp"
#include "execute/task.hpp"
