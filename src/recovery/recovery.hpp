// Rescues jobs after a crash of their process, of the server or of a worker; what other rooms may
// use.
#pragma once

#include "recovery/reclaim.hpp"
#include "recovery/recover.hpp"
#include "recovery/rescue.hpp"
#include "recovery/resolve_external.hpp"
#include "recovery/suspects.hpp"
#include "recovery/type_crashes.hpp"
