// What is watched while user code runs for a job: its deadline, and which job this session works on.
#pragma once

#include "worker/task.hpp"

namespace hipq::worker {

// Hands the deadline and the current jobs back, however the handler was left.
class Watch {
public:
    explicit Watch(const Task &task);
    ~Watch() { end(); }
    Watch(const Watch &) = delete;
    Watch &operator=(const Watch &) = delete;

    // Returns whether the deadline was missed. The current jobs stay until the end: their finish belongs to them.
    bool stop_timer();
    bool end();

private:
    bool missed_ = false;
    bool ended_ = false;
};

}  // namespace hipq::worker
