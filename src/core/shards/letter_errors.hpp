// Decides whether an error about a job from another node is the job's fault or the server's.
#pragma once

#include <string_view>

namespace hipq::core {

// Returns whether the job or its queue is to blame: other jobs then go on. Otherwise, by the
// SQLSTATE, this server is in trouble: the disk is full, a lock is held, an operator stopped
// something. Everything received then waits.
bool is_about_sent_job(std::string_view sqlstate);

// Returns whether a refused set-up will fit once other work is done, such as when the jobs of a
// queue's former scope have ended. Until then nothing after it may take effect, because it would do
// so under the former set-up.
bool may_fit_later(std::string_view sqlstate);

}  // namespace hipq::core
