// Whose fault an error is that a job raises which another node has sent.
#pragma once

#include <string_view>

namespace hipq::core {

// Whether the job is to blame, or its queue: others go on then. Else this server is in trouble, as
// the SQLSTATE says: the disk is full, a lock is held, an operator has stopped something. What was
// sent waits then.
bool is_about_sent_job(std::string_view sqlstate);

// Whether a set-up that is refused so will fit when others have done what they are at: the jobs of
// a queue's former scope end. Until then nothing that comes behind it may take effect, or it would
// do so by the former set-up.
bool may_fit_later(std::string_view sqlstate);

}  // namespace hipq::core
