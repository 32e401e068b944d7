// The processes and hooks: launcher, scheduler and executor. Declares what other rooms may use.
#pragma once

#include "server/hooks.hpp"
#include "server/launcher.hpp"
