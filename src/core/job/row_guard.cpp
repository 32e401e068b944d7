// Decides whether a row of a job may be written: what each caller may do to its columns. The guard
// trigger collects the facts and words the refusal.
#include "core/job/row_guard.hpp"

namespace hipq::core {

namespace {

constexpr std::size_t index(Column column)
{
    return static_cast<std::size_t>(column);
}

// The first column of the set in table order; the state if the set is empty.
Column first_of(const ColumnSet &columns)
{
    for (std::size_t i = 0; i < column_count; ++i) {
        if (columns.test(i))
            return static_cast<Column>(i);
    }
    return Column::state;
}

bool is_trusted(Caller caller)
{
    return caller == Caller::restore || caller == Caller::replica;
}

// Check state and bookkeeping before the fixed columns, because for them the hint can name the
// function to call instead.
std::optional<Refusal> check_user_update(JobState from, JobState to, const ColumnSet &changed)
{
    if (changed.none())
        return std::nullopt;
    if (from == JobState::final)
        return Refusal{Refusal::Rule::already_final, first_of(changed)};
    if (from != to)
        return Refusal{Refusal::Rule::state_changed, Column::state};
    if (const ColumnSet bookkeeping = changed & columns_of(ColumnKind::bookkeeping);
        bookkeeping.any())
        return Refusal{Refusal::Rule::bookkeeping_changed, first_of(bookkeeping)};
    if (const ColumnSet fixed = changed & columns_of(ColumnKind::fixed); fixed.any())
        return Refusal{Refusal::Rule::fixed_changed, first_of(fixed)};
    if (!is_waiting(from))
        return Refusal{Refusal::Rule::not_waiting, first_of(changed)};
    return std::nullopt;
}

std::optional<Refusal> check_own_update(JobState from, JobState to, const ColumnSet &changed)
{
    if (from == JobState::final)
        return Refusal{Refusal::Rule::already_final, first_of(changed)};
    if (from != to && !is_net_effect(from, to))
        return Refusal{Refusal::Rule::illegal_transition, Column::state};
    return std::nullopt;
}

}  // namespace

std::optional<Refusal> check_insert(Caller caller, JobState state, const ColumnSet &given)
{
    if (caller != Caller::user)
        return std::nullopt;
    ColumnSet offending = given & columns_of(ColumnKind::bookkeeping);
    offending.set(index(Column::state), state != JobState::initial);
    if (offending.none())
        return std::nullopt;
    return Refusal{Refusal::Rule::bookkeeping_given, first_of(offending)};
}

std::optional<Refusal> check_update(Caller caller, JobState from, JobState to,
                                    const ColumnSet &changed)
{
    if (is_trusted(caller))
        return std::nullopt;
    // Compute the bit of the state column here, so that a caller with an incomplete set cannot
    // bypass the check.
    ColumnSet complete = changed;
    complete.set(index(Column::state), from != to);
    return caller == Caller::user ? check_user_update(from, to, complete)
                                  : check_own_update(from, to, complete);
}

std::optional<Refusal> check_delete(Caller caller, bool is_extension_owner, JobState state)
{
    if (caller != Caller::user)
        return std::nullopt;
    if (!is_extension_owner)
        return Refusal{Refusal::Rule::delete_refused, Column::id};
    if (state == JobState::running || state == JobState::error)
        return Refusal{Refusal::Rule::delete_running, Column::id};
    return std::nullopt;
}

}  // namespace hipq::core
