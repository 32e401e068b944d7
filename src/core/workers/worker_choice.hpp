// Chooses the worker that gets a job: healthy ones by queue depth, then unknown and degraded ones
// by queue depth, or an unhealthy one for a probe.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/workers/worker_health.hpp"

namespace hipq::core {

// A worker that serves the job's type, as plain data.
struct Candidate {
    std::int64_t worker_id;
    std::uint64_t last_chosen;  // grows with each choice; 0: never chosen
    int depth;                  // jobs offered; they use up capacity
    int queue_depth;            // the same, or the worker's own figure if that is higher
    int running;                // jobs accepted, or about to be
    int capacity;
    int prefetch;
    Health health;
    bool may_be_probed;
    bool is_draining;
};

// Returns whether the worker may hold one more job: as many as it runs at a time, and its prefetch
// on top.
bool has_capacity(const Candidate &worker);

// Returns how many more jobs the worker may get now: none if it drains or is unhealthy, one if that
// is a probe.
int capacity_for_jobs(const Candidate &worker);

// Returns whether to prefer `one` to `other`: by health, queue depth, share of its capacity in use,
// and which was chosen longer ago.
bool is_better(const Candidate &one, const Candidate &other);

// The best of the workers considered, one after the other. An unhealthy worker that may be probed
// comes first: otherwise it would never be tried while there is another. `avoided`, the worker that
// had the job last, is chosen only if there is no other.
class WorkerChoice {
public:
    explicit WorkerChoice(std::int64_t avoided = 0) : avoided_(avoided) {}
    void consider(const Candidate &worker);
    // Nothing if no worker may get a job now.
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
