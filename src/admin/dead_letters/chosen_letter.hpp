// Chooses a dead letter to act on, by id or by filter.
#pragma once

#include <span>

#include "catalog/cache.hpp"
#include "nodes/nodes.hpp"

namespace hipq::admin {

struct Letter {
    const catalog::Queue *queue;
    std::int64_t job_id;
    std::string job_type;
    std::string job_key;
    std::string state;
    bool is_reduced;
};

// Returns the queue of a dead letter, which the caller must control. Null if the dead letter is not
// on this server, or the caller may not know that it is.
const catalog::Queue *find_controlled(const catalog::Catalogue &catalogue, std::int64_t id);
const catalog::Queue &require_controlled(const catalog::Catalogue &catalogue,
                                         const std::string &name);

// Has the node with the dead letter do it, and returns that node's answer.
std::string call_elsewhere(const catalog::Catalogue &catalogue, const nodes::Call &call);

// Locks a dead letter. Raises 55P03 if another session has it locked.
Letter take_letter(const catalog::Queue &queue, std::int64_t id);

[[noreturn]] void raise_wrong_state(const Letter &letter, const char *action);
[[noreturn]] void raise_reduced(const Letter &letter, const char *action);

struct Filter {
    std::optional<std::string> job_type;
    std::optional<std::string> reason;
    pg::Time before;
    std::optional<std::string> state;
    std::int64_t most;
};

// Raises 22023 for a state that is not among the known ones: the filter would find nothing.
std::optional<std::string> check_state(const std::optional<std::string> &state,
                                       std::span<const char *const> known);

// $1 queue, $2 job type, $3 reason, $4 before, $5 state, $6 limit
#define HIPQ_FILTERED_LETTERS                                                                      \
    " FROM hipq.dead_letter AS letter"                                                             \
    " WHERE letter.queue_id = $1 AND ($2 IS NULL OR letter.job_type = $2) AND ($3 IS NULL OR "     \
    "letter.reason = $3)"                                                                          \
    " AND letter.died_time < $4 AND ($5 IS NULL OR letter.state = $5)"
#define HIPQ_OLDEST_FIRST                                                                          \
    " ORDER BY letter.died_time, letter.job_id LIMIT $6 FOR UPDATE SKIP LOCKED"

}  // namespace hipq::admin
