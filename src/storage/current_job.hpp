// The jobs whose handler runs in this session, if any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hipq::storage {

struct CurrentJob {
    int queue_id;
    std::int64_t id;
    int attempt;  // as its row has it
    std::string type;
    std::string key;   // "NONE" = none
    bool may_commit;   // its handler may commit midway
    bool is_of_batch;  // its handler takes batches
};

// The jobs that run: one, or a batch; none outside a handler.
void set_current_jobs(std::vector<CurrentJob> jobs);

bool runs_jobs();
bool is_current_job(std::int64_t id);

// Whether the handler of a job runs, in an executor or in this session. The row of one that was claimed by a lock does not say
// so.
bool is_running(std::int64_t id);

// The handler that runs in this session wants its job to be run again after a time (microseconds); the last wish counts, and one
// that a subtransaction was rolled back with does not. Raises 55000 outside of a handler, 0A000 in one that takes batches.
void request_snooze(std::int64_t delay);
std::optional<std::int64_t> requested_snooze();

// A new job with the very type and key of the running one is its successor: the running row makes room in the same transaction,
// and the finish then writes the final copy only. If the handler fails, both are undone. Called before a row is inserted; does
// nothing for every other row. Raises 0A000 in a procedure, which may commit before it ends.
void make_room_for_successor(int queue_id, std::string_view type, std::string_view key);

}  // namespace hipq::storage
