// Jobs that failed for good: their handler, and what operators do about them. What other rooms may
// use.
#pragma once

#include "dead_letters/call_handler.hpp"
