// What can be done: each with a question that says what will happen, and words for what did.
#pragma once

#include "screens/screen.hpp"

namespace hipq::top::actions {

// A queue, or one of its types, is paused or resumed, whichever it is not.
Action pause(const std::string &queue, const std::string &job_type);
Action resume(const std::string &queue, const std::string &job_type);
Action cancel(const QueueName &queue, const std::string &id);
Action retry(const QueueName &queue, const std::string &id);
Action redrive(const std::string &id);
Action dismiss(const std::string &id);
Action redrive_all(const QueueName &queue);
Action drain(const std::string &worker_id, const std::string &name);

}  // namespace hipq::top::actions
