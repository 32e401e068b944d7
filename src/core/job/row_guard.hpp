// Rules about what a caller may do to the row of a job. The guard trigger collects the facts, these
// functions decide.
#pragma once

#include <optional>

#include "core/job/columns.hpp"
#include "core/job/state.hpp"

namespace hipq::core {

// The writer of the row.
enum class Caller : unsigned char {
    user,     // INSERT, UPDATE, DELETE, COPY, MERGE by anyone, superusers included
    hipq,     // hipq's own functions and processes
    restore,  // a superuser or the extension owner loading complete rows, as pg_restore does
    replica,  // session_replication_role = replica: logical replication, or a restore that sets it
};

// Why a write is refused. `column` is the first offending column, in table order.
struct Refusal {
    enum class Rule : unsigned char {
        bookkeeping_given,  // INSERT gives a bookkeeping column a value other than its initial one
        state_changed,      // UPDATE changes the state
        bookkeeping_changed,  // UPDATE changes a bookkeeping column
        fixed_changed,        // UPDATE changes a column that is fixed at INSERT
        not_waiting,          // UPDATE of a job in state running or error
        already_final,        // UPDATE of a final job, by anyone
        illegal_transition,   // hipq itself tried a transition outside the state machine
        delete_refused,       // DELETE by anyone but the extension owner
        delete_running,       // DELETE of a job in state running or error, by the extension owner
    };
    Rule rule;
    Column column;
};

// `given` holds the bookkeeping columns whose value in the new row is neither NULL nor the initial
// value. `state` is the state in the new row (NULL counts as initial). Callers hipq, restore and
// replica pass: the CHECK constraints of the table check their rows.
std::optional<Refusal> check_insert(Caller caller, JobState state, const ColumnSet &given);

// `changed` holds the columns whose value differs between the old and the new row. A user's UPDATE
// that changes nothing passes in every state. Restore and replica pass. hipq passes when the states
// are equal and not final, or is_net_effect(from, to).
std::optional<Refusal> check_update(Caller caller, JobState from, JobState to,
                                    const ColumnSet &changed);

// hipq, restore and replica pass. A user passes only as the extension owner, and only while no
// process runs the job: that process would still write the job's end.
std::optional<Refusal> check_delete(Caller caller, bool is_extension_owner, JobState state);

}  // namespace hipq::core
