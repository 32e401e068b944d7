// A program that runs: it is written to, read from, ended, and its end is noticed.
#pragma once

#include "hipq/client/loop.hpp"

#include "child/ending.hpp"
#include "child/spawn.hpp"

namespace hipq::run {

using client::Loop;

// What a program says; each is called with any number of bytes.
struct Hears {
    std::function<void(std::string_view)> out;
    std::function<void(std::string_view)> error;
    std::function<void(std::string_view)> progress;
    // It has ended, and so has all of its process group. The last call.
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
    // What was written goes out first.
    void close_input();
    // SIGTERM for its group, and SIGKILL after so long.
    void end(Loop::Milliseconds kill_after);
    bool is_ending() const { return is_ending_; }
    // SIGCHLD has come: whether it was this one's. Then exit() has been called.
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
