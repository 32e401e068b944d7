// Tables cut into leaves by time (the final jobs of a queue, the attempts) and how they are kept in
// shape. All as the extension owner.
#pragma once

#include "catalog/catalog.hpp"
#include "tables/try_lock.hpp"

namespace hipq::tables {

struct TimeTree {
    std::string parent;       // "app_mail_final", "attempt": unquoted, in schema hipq
    std::string time_column;  // "update_time", "ended_time"
    std::int64_t retention;   // microseconds
    // What leaves have besides the constraints of the table.
    enum class Indexes : unsigned char {
        final_jobs,  // the (job_type, job_key) index and the unique id
        attempts,    // (queue_id, job_id, attempt)
        none
    } indexes;
    // Rows from then on are kept, whatever their age; nothing: all are.
    std::optional<pg::Time> kept_from = pg::infinity;
};

// The trees of hipq.attempt and hipq.attempt_log; their rows are kept for so many microseconds.
std::array<TimeTree, 2> attempt_trees(std::int64_t retention);
// What was sent to other servers, and what has come from them; rows that were sent are kept for so
// many microseconds, and the others longer: whatever is sent anew has to be known here. What was
// sent from `unread_since` on is kept anyway.
std::array<TimeTree, 2> outbox_trees(std::int64_t retention, std::optional<pg::Time> unread_since);
// The final jobs of a queue.
TimeTree final_tree(const catalog::Queue &queue);

// One pass of maintenance over a tree: moves rows out of the default leaf into a new leaf where a
// period needs it, makes the missing leaves, drops those that are due. A tree that has never had a
// row keeps its default leaf alone. Runs its own transactions, each short; a step that somebody's
// lock is against is left to the next pass. Returns true when nothing is left to do. For the
// scheduler: no transaction open.
bool maintain_time_tree(const TimeTree &tree, Patience &patience);

}  // namespace hipq::tables
