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
    std::string key;  // "NONE" = none
    bool may_commit;  // its handler may commit midway
};

// The jobs that run: one, or a batch; none outside a handler.
void set_current_jobs(std::vector<CurrentJob> jobs);

bool is_current_job(std::int64_t id);

// A new job with the very type and key of the running one is its successor: the running row makes room in the same transaction,
// and the finish then writes the final copy only. If the handler fails, both are undone. Called before a row is inserted; does
// nothing for every other row. Raises 0A000 in a procedure, which may commit before it ends.
void make_room_for_successor(int queue_id, std::string_view type, std::string_view key);

}  // namespace hipq::storage
