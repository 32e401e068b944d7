// The form in which a new job is sent from one node to another: a JSON object of its columns.
#pragma once

#include "job/job_row.hpp"
#include "nodes/nodes.hpp"

namespace hipq::nodes {

// A deep copy in the current memory context.
job::RowValues copy_of(const job::RowValues &job);

}  // namespace hipq::nodes
