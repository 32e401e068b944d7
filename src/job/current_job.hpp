// The jobs whose handler runs in this session, if any.
#pragma once

#include "catalog/catalog.hpp"
#include "job/job_row.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hipq::job {

struct CurrentJob {
    int queue_id;
    std::int64_t id;
    int attempt;  // as its row has it
    std::string type;
    std::string key;            // "NONE" = none
    bool may_commit;            // its handler may commit midway
    bool is_of_batch;           // its handler takes batches
    std::string traceparent{};  // empty: it has none
    std::string shard_key{};    // "NONE" = none
};

// The jobs that run: one, or a batch; none outside a handler.
void set_current_jobs(std::vector<CurrentJob> jobs);

bool runs_jobs();
bool is_current_job(std::int64_t id);
std::optional<int> current_queue();  // theirs

// Whether the handler of a job runs, in an executor or in this session. The row of one that was
// claimed by a lock does not say so.
bool is_running(std::int64_t id);

// The same of a job of that queue alone.
bool is_running_in(int queue_id, std::int64_t id);

// The job whose handler runs in this session, for a function that is for handlers of one job.
// Raises 55000 with that hint outside of a handler, 0A000 with that message and hint in one that
// takes batches.
struct Refusal {
    const char *outside_hint;
    const char *batch_message;
    const char *batch_hint;
};
const CurrentJob &require_current_job(const Refusal &refusal);

// What the handler that runs in this session wants to become of its job when it returns: to be run
// again after a time (microseconds), or to stay running until somebody completes it. The last wish
// counts; when it is rolled back with a subtransaction, the one before it. Both raise what
// require_current_job() raises.
void request_snooze(std::int64_t delay);
void request_complete_later();

// The delay (microseconds) of the retry that the handler asks for with the error that it is about
// to raise. Rolling back does not undo it; outside of a handler it has no effect. The last one
// counts.
void request_retry_after(std::int64_t delay);
std::optional<std::int64_t> requested_retry_after();

enum class HandlerEnd : unsigned char { finished, snoozed, left_running };
struct RequestedEnd {
    HandlerEnd end;
    std::int64_t delay;  // of a snooze
};
RequestedEnd requested_end();

// A new job with the very type and key of the running one (and, where keys are unique for each
// shard key, with that) is its successor: the running row makes room in the same transaction, and
// the finish then writes the final copy only. If the handler fails, both are undone. Called before
// a whole row is inserted; does nothing for every other row. Raises 0A000 in a procedure, which may
// commit before it ends.
void make_capacity_for_successor(const catalog::Queue &queue, const RowValues &row);

}  // namespace hipq::job
