// From a failed attempt to the decision: retry or final. What other rooms may use.
#pragma once

#include "retry/resolve.hpp"
