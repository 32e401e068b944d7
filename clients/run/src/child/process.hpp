// A running program: writes to it, reads from it, ends it, and notices its end.
#pragma once

#include "hipq/client/loop.hpp"

#include "child/ending.hpp"
#include "child/spawn.hpp"

namespace hipq::run {

using client::Loop;

// The output of a program; each call has any number of bytes.
struct Hears {
    std::function<void(std::string_view)> out;
    std::function<void(std::string_view)> error;
    std::function<void(std::string_view)> progress;
    // The program has ended, and so has its whole process group. The last call.
    std::function<void(ExitStatus)> exit;
};

class Process {
public:
    Process(Loop &loop, Guard &guard, Spawned spawned, Hears hears);
    Process(const Process &) = delete;
    Process &operator=(const Process &) = delete;
    ~Process();

    pid_t pid() const { return pid_; }
    void write(std::string_view bytes);
    // Sends everything that was written before.
    void close_input();
    // Sends SIGTERM to its group, and SIGKILL after this time.
    void end(Loop::Milliseconds kill_after);
    bool is_ending() const { return is_ending_; }
    // SIGCHLD has arrived: returns whether it was for this program. Then exit() has been called.
    bool look();

private:
    using Hear = std::function<void(std::string_view)> Hears::*;

    void watch(Descriptor &descriptor, Hear hear);
    bool read_all(Descriptor &descriptor, Hear hear);
    void write_waiting();
    void forget(Descriptor &descriptor);

    Loop &loop_;
    Guard &guard_;
    pid_t pid_;
    Descriptor in_;
    Descriptor out_;
    Descriptor error_;
    Descriptor progress_;
    Hears hears_;
    std::string waiting_;
    bool closes_input_ = false;
    bool is_ending_ = false;
    Loop::Timer kill_timer_;
};

}  // namespace hipq::run
