// The variables in the environment of a job's program.
#pragma once

#include "child/executor.hpp"

namespace hipq::run {

Environment variables_of(const ClaimedJob &job);

}  // namespace hipq::run
