// External workers: registering, dispatch to them, and what they say of their jobs. What other
// rooms may use.
#pragma once

#include "external/dispatch.hpp"
#include "external/give_up_waiting.hpp"
#include "external/held_attempt.hpp"
#include "external/look_after_workers.hpp"
#include "external/short_ttl.hpp"
