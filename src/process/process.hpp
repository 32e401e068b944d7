// What all background processes have in common: signals, waiting, settings, duties that fail alone.
// What other rooms may use.
#pragma once

#include "process/background.hpp"
#include "process/duties.hpp"
#include "process/pinned_settings.hpp"
#include "process/server_status.hpp"
