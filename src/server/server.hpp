// The processes and hooks: launcher, scheduler, executor, what they do next. What other rooms may
// use.
#pragma once

#include "server/hooks.hpp"
#include "server/launcher.hpp"
