// What is watched while user code runs for a job: its deadline, requests to cancel it, and which
// jobs this session works on.
#pragma once

#include "catalog/cache.hpp"
#include "execute/task.hpp"
#include "job/claimed_job.hpp"
#include "job/finish.hpp"

namespace hipq::execute {

// What made user code stop, whatever it made of that itself: it may have caught it, or ended just
// then.
struct Stop {
    bool missed_deadline = false;
    std::optional<std::string> cancelled;  // hipq.cancel(): what the job ends with
    std::int64_t extended = 0;             // hipq.extend(): seconds more than its timeout
};

class StopControl {
public:
    // Over a handler. The timeout counts from now; a batch is over when the time of its first job
    // is.
    explicit StopControl(const Task &task);
    // Over a retry handler.
    explicit StopControl(const job::ClaimedJob &job);
    ~StopControl();
    StopControl(const StopControl &) = delete;
    StopControl &operator=(const StopControl &) = delete;

    // Whether it has been cancelled before it started.
    bool comes_too_late() const { return comes_too_late_; }

    // User code has ended: nothing is cancelled any more. The current jobs stay, since their finish
    // belongs to them. Always gives the same answer.
    const Stop &stop();

private:
    void begin(std::int64_t job_id, int timeout, bool asks_retry_handler);
    Stop stop_;
    bool comes_too_late_ = false;
    bool stopped_ = false;
};

// How an attempt failed that was stopped; nothing when it was not.
std::optional<job::Failure> stop_failure(const Stop &stop, const job::ClaimedJob &job);

// Before announce_idle(): ends jobs that somebody wants to be cancelled while there was no code to
// stop. Own transactions.
void heed_cancellations(const catalog::Queue &queue);

}  // namespace hipq::execute
