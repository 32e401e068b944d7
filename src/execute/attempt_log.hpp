// What a handler says (INFO, NOTICE, WARNING), kept until its attempt is written down.
#pragma once

#include "job/job.hpp"

namespace hipq::execute {

// While it lives, messages of this process are kept as those of the handler that runs; what the
// server's log shows stays the same.
class Listening {
public:
    Listening();
    ~Listening();
    Listening(const Listening &) = delete;
    Listening &operator=(const Listening &) = delete;

private:
    int level_before_;  // log_min_messages
};

// The log of an attempt, whether it comes to a handler or not. What one before has said and nobody
// could write down is forgotten. While it lives, hipq.attempt_log is what the type of the job says,
// if that says anything. It begins before the handler's transaction or subtransaction and ends
// after it: what a handler sets the setting to is put back to this value then.
class AttemptLog {
public:
    AttemptLog(const catalog::Queue &queue, const job::ClaimedJob &job);
    ~AttemptLog();
    AttemptLog(const AttemptLog &) = delete;
    AttemptLog &operator=(const AttemptLog &) = delete;

private:
    bool before_;
};

// Writes down what was said in the attempt of a job, which may be the first of a batch. In the
// transaction that ends the attempt. Once: then it is forgotten.
void write_attempt_log(const catalog::Queue &queue, const job::ClaimedJob &job);

// Installs the hook; called once by _PG_init. PostgreSQL regime.
void listen_to_handlers();

}  // namespace hipq::execute
