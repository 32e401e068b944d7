// A process that outlives hipq-run briefly: it kills the running programs when hipq-run is killed.
//
// A parent-death signal reaches a program, but not that program's children. So the guard knows all
// process groups, reads from a pipe whose other end hipq-run has, and kills the groups when the
// pipe ends. If the guard itself is killed, hipq-run starts it again.
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

    // For a new program: reports its process group to the guard, before exec. Uses only calls that
    // are allowed between fork and exec.
    void add_self() const;
    // For hipq-run.
    void added(pid_t group) { groups_.insert(group); }
    void remove(pid_t group);

    pid_t pid() const { return pid_; }
    // The guard has ended: starts another one.
    void restart();

private:
    void start();
    void tell(char sign, pid_t group) const;

    pid_t pid_ = 0;
    Descriptor tell_;
    std::set<pid_t> groups_;
};

}  // namespace hipq::run
