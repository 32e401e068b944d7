// The jobs whose handler runs in this session, if any.
#pragma once

#include "catalog/cache.hpp"
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
    int attempt;  // as stored in its row
    std::string type;
    std::string key;            // "NONE" = none
    bool may_commit;            // its handler may commit midway
    bool is_of_batch;           // its handler takes batches
    std::string traceparent{};  // empty: it has none
    std::string shard_key{};    // "NONE" = none
    std::optional<std::int64_t> batch_id{};
    std::optional<pg::Time> schedule_time{};
};

// Sets the jobs that run: one, or a batch; none outside a handler.
void set_current_jobs(std::vector<CurrentJob> jobs);

bool runs_jobs();
std::vector<std::int64_t> current_jobs();
bool is_current_job(std::int64_t id);
std::optional<int> current_queue();  // the queue of these jobs
// Whether one of them belongs to the batch.
bool is_current_batch(std::int64_t batch_id);

// Whether the handler of a job runs, in an executor or in this session. The row of a job that was
// claimed by a lock does not show it.
bool is_running(std::int64_t id);

// The same for a job of that queue only.
bool is_running_in(int queue_id, std::int64_t id);

// The job whose handler runs in this session, for functions that only handlers of one job may call.
// Raises 55000 with `outside_hint` outside a handler, 0A000 with `batch_message` and `batch_hint`
// in a handler that takes batches.
struct Refusal {
    const char *outside_hint;
    const char *batch_message;
    const char *batch_hint;
};
const CurrentJob &require_current_job(const Refusal &refusal);

// The running handler's requests for the end of its job: to run it again after a delay (in
// microseconds), or to leave it running until it is completed by another call. The last request
// counts; if it is rolled back with a subtransaction, the previous one counts. Both raise what
// require_current_job() raises.
void request_snooze(std::int64_t delay);
void request_complete_later();

// The delay (in microseconds) of the retry that the handler requests together with the error that
// it is about to raise. A rollback does not undo the request. Outside a handler it has no effect.
// The last request counts.
void request_retry_after(std::int64_t delay);
std::optional<std::int64_t> requested_retry_after();

enum class HandlerEnd : unsigned char { finished, snoozed, left_running };
struct RequestedEnd {
    HandlerEnd end;
    std::int64_t delay;  // for a snooze
};
RequestedEnd requested_end();

// A new job with the type and key of the running job (and with its shard key, where keys are unique
// per shard key) is its successor: this function deletes the running row in the same transaction,
// and the finish then writes the final copy only. If the handler fails, both are undone. Called
// before a whole row is inserted; does nothing for other rows, and for held ones. Raises 0A000 in a
// procedure, which may commit before it ends.
void make_capacity_for_successor(const catalog::Queue &queue, const RowValues &row);

}  // namespace hipq::job
