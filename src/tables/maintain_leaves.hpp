// Tables that are partitioned by time (the final jobs of a queue, the attempts), and their
// maintenance. All as the extension owner.
#pragma once

#include "catalog/cache.hpp"
#include "tables/try_lock.hpp"

#include <functional>

namespace hipq::tables {

struct TimeTree {
    std::string parent;       // "app_mail_final", "attempt": unquoted, in schema hipq
    std::string time_column;  // "update_time", "ended_time"
    std::int64_t retention;   // microseconds
    // What a leaf has in addition to the constraints of the table.
    enum class Indexes : unsigned char {
        final_jobs,  // the (job_type, job_key) index and the unique id
        attempts,    // (queue_id, job_id, attempt)
        none
    } indexes;
    // Rows from this time on are kept, whatever their age; nothing: all rows are.
    std::optional<pg::Time> kept_from = pg::infinity;
    // Called before rows go, in the transaction in which they do: all rows of a table (its name is
    // quoted), or those up to a time.
    std::function<void(const std::string &table, std::optional<pg::Time> until)> before_rows_go{};
};

// The trees of hipq.attempt and hipq.attempt_log. Their rows are kept for `retention` microseconds.
std::array<TimeTree, 2> attempt_trees(std::int64_t retention);
// The trees of letters sent to other servers and of letters received from them. Sent letters are
// kept for `retention` microseconds, and in any case if sent from `unread_since` on. Received ones
// are kept longer, so that a letter that is sent again is recognized.
std::array<TimeTree, 2> outbox_trees(std::int64_t retention, std::optional<pg::Time> unread_since);
// The tree of the final jobs of a queue.
TimeTree final_tree(const catalog::Queue &queue);

// Runs one pass of maintenance over a tree: moves rows from the default leaf to a new leaf where a
// period needs one, creates missing leaves, drops leaves that are due. A tree that has never had a
// row keeps its default leaf only. Runs its own transactions, each short. Leaves a step that
// another session's lock prevents to the next pass. Returns true when nothing is left to do. For
// the scheduler; no transaction may be open.
[[nodiscard]] bool maintain_time_tree(const TimeTree &tree, Patience &patience);

}  // namespace hipq::tables
