// Watches user code while it runs for a job: its deadline, requests to cancel it, and which jobs
// this session works on.
#pragma once

#include "catalog/cache.hpp"
#include "execute/task.hpp"
#include "job/claimed_job.hpp"
#include "job/finish.hpp"

namespace hipq::execute {

// Why user code was stopped, however it reacted: it may have caught the cancellation, or ended just
// then.
struct Stop {
    bool missed_deadline = false;
    std::optional<std::string> cancelled;  // hipq.cancel(): the error that the job ends with
    std::int64_t extended = 0;             // hipq.extend(): seconds added to its timeout
};

class StopControl {
public:
    // Watches a handler. The timeout counts from now; a batch gets the shortest timeout of its
    // jobs.
    explicit StopControl(const Task &task);
    // Watches a retry handler.
    explicit StopControl(const job::ClaimedJob &job);
    ~StopControl();
    StopControl(const StopControl &) = delete;
    StopControl &operator=(const StopControl &) = delete;

    // Returns whether a cancellation came before the start.
    bool comes_too_late() const { return comes_too_late_; }

    // User code has ended: it is not cancelled any more. The current jobs stay current, because the
    // finish needs them. Further calls return the same result.
    const Stop &stop();

private:
    void begin(std::int64_t job_id, int timeout, bool asks_retry_handler);
    Stop stop_;
    bool comes_too_late_ = false;
    bool stopped_ = false;
};

// The failure of an attempt that was stopped; nothing if it was not stopped.
std::optional<job::Failure> stop_failure(const Stop &stop, const job::ClaimedJob &job);

// Call before announce_idle(): ends jobs whose cancellation was requested while there was no code
// to stop. Runs transactions of its own.
void heed_cancellations(const catalog::Queue &queue);

}  // namespace hipq::execute
