// The actions: each with a question that says what will happen, and a message about the result.
#pragma once

#include "screens/screen.hpp"

namespace hipq::top::actions {

// A queue, one of its job types, or one throttle key of that type: empty means all.
struct Place {
    std::string queue;
    std::string job_type{};
    std::string throttle_key{};
};
Action pause(const Place &place);
Action resume(const Place &place);
Action cancel(const QueueName &queue, const std::string &id);
Action retry(const QueueName &queue, const std::string &id);
Action redrive(const std::string &id);
Action dismiss(const std::string &id);
// Dead letters of one job type, up to a time; empty means all.
struct Died {
    std::string job_type{};
    std::string time{};    // of the last of them, to be displayed
    std::string before{};  // the same, for the statement
};
Action redrive_all(const QueueName &queue, const Died &died = {});
Action drain(const std::string &worker_id, const std::string &name);

}  // namespace hipq::top::actions
