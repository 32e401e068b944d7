// What a handler says (INFO, NOTICE, WARNING), kept until its attempt is written down.
#pragma once

#include "job/job.hpp"

namespace hipq::execute {

// While it lives, messages of this process are kept as those of the handler that runs; what the
// server's log shows stays the same. Forgets what the handler before has said.
class Listening {
public:
    Listening();
    ~Listening();
    Listening(const Listening &) = delete;
    Listening &operator=(const Listening &) = delete;

private:
    int level_before_;  // log_min_messages
};

// Writes down what was said in the attempt of a job, which may be the first of a batch. In the
// transaction that ends the attempt. Once: then it is forgotten.
void write_attempt_log(const catalog::Queue &queue, const job::ClaimedJob &job);

// Installs the hook; called once by _PG_init. PostgreSQL regime.
void listen_to_handlers();

}  // namespace hipq::execute
