// What all background processes have in common: signals, waiting, settings, duties that fail alone.
// The interface for other rooms.
#pragma once

#include "process/background.hpp"
#include "process/duties.hpp"
#include "process/pinned_settings.hpp"
#include "process/server_status.hpp"
