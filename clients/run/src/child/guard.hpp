// A process that outlives hipq-run by a moment: it kills what runs when hipq-run is killed.
//
// A parent-death signal reaches a program, but not what that has started. So the guard knows all
// process groups, reads from a pipe whose other end hipq-run has, and kills the groups when that
// ends. The guard is started again should it be killed itself.
#pragma once

#include <sys/types.h>

#include <set>

#include "child/pipe.hpp"

namespace hipq::run {

class Guard {
public:
    Guard();
    Guard(const Guard &) = delete;
    Guard &operator=(const Guard &) = delete;
    ~Guard();

    // For a new program: tells the guard of its own group, before it is the program. Only calls
    // that may be made between fork and exec.
    void add_self() const;
    // For hipq-run.
    void added(pid_t group) { groups_.insert(group); }
    void remove(pid_t group);

    pid_t pid() const { return pid_; }
    // It has ended: another one takes its place.
    void restart();

private:
    void start();
    void tell(char sign, pid_t group) const;

    pid_t pid_ = 0;
    Descriptor tell_;
    std::set<pid_t> groups_;
};

}  // namespace hipq::run
