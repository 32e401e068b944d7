// Whose fault an error is that a job raises which another node has sent.
#pragma once

#include <string_view>

namespace hipq::core {

// Whether the job is to blame, or its queue: others go on then. Else this server is in trouble, as
// the SQLSTATE says: the disk is full, a lock is held, an operator has stopped something. What was
// sent waits then.
bool is_about_sent_job(std::string_view sqlstate);

}  // namespace hipq::core
