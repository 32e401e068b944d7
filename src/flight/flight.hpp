// The flight recorder: which jobs run this very moment, in a file that outlives a crash, and the
// cases that follow from one. What other rooms may use.
#pragma once

#include "flight/crash_cases.hpp"
#include "flight/flight_recorder.hpp"
