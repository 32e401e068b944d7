// What a node does to come back into step.
#pragma once

namespace hipq::shards {

// Numbers of jobs and letters that what was forgotten has given already. Needs as_hipq.
void leave_numbers_out();

}  // namespace hipq::shards
