// Which worker gets a job: healthy ones by queue depth, then unknown and degraded ones by queue
// depth, an unhealthy one for a probe.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/workers/worker_health.hpp"

namespace hipq::core {

// A worker that serves the job's type, as plain data.
struct Candidate {
    std::int64_t worker_id;
    std::uint64_t last_chosen;  // grows with each choice; 0: never
    int depth;                  // jobs dispatched, not accepted: they take up capacity
    int queue_depth;            // the same, or what it says of itself if that is more
    int running;                // jobs accepted
    int capacity;
    int prefetch;
    Health health;
    bool may_be_probed;
    bool is_draining;
};

// Whether it may hold one more job: as many as it runs at a time, and what it holds beyond those.
bool has_capacity(const Candidate &worker);

// How many more jobs it may be given now: none if it drains or is unhealthy, one if that is a
// probe.
int capacity_for_jobs(const Candidate &worker);

// Whether `one` is to be given a job rather than `other`: by health, queue depth, share of its
// capacity in use, and whoever was chosen longer ago.
bool is_better(const Candidate &one, const Candidate &other);

// The best of those that were looked at, one after the other. An unhealthy worker that may be
// probed comes first: it would never be tried while there is another. `avoided` is the worker that
// had the job last: only if there is no other.
class WorkerChoice {
public:
    explicit WorkerChoice(std::int64_t avoided = 0) : avoided_(avoided) {}
    void consider(const Candidate &worker);
    // Nothing if none may be given a job now.
    std::optional<std::int64_t> best() const;

private:
    std::int64_t avoided_;
    bool has_best_ = false;
    bool has_avoided_ = false;
    Candidate best_{};
};

std::optional<std::int64_t> choose_worker(std::span<const Candidate> workers,
                                          std::int64_t avoided = 0);

}  // namespace hipq::core
