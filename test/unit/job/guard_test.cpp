// The guard: every caller, every pair of states, every column.
#include "core/job/row_guard.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

namespace hipq::core {
namespace {

using Rule = Refusal::Rule;

constexpr std::array all_callers{Caller::user, Caller::hipq, Caller::restore, Caller::replica};

std::vector<Column> all_columns()
{
    std::vector<Column> columns;
    for (std::size_t i = 0; i < column_count; ++i)
        columns.push_back(static_cast<Column>(i));
    return columns;
}

std::vector<Column> columns_of_kind(ColumnKind wanted)
{
    std::vector<Column> columns;
    for (Column column : all_columns()) {
        if (kind(column) == wanted)
            columns.push_back(column);
    }
    return columns;
}

ColumnSet set_of(std::initializer_list<Column> columns)
{
    ColumnSet set;
    for (Column column : columns)
        set.set(static_cast<std::size_t>(column));
    return set;
}

// The changes that a trigger sees: the state column has changed when the states differ.
ColumnSet changes(JobState from, JobState to, std::initializer_list<Column> columns)
{
    ColumnSet set = set_of(columns);
    set.set(static_cast<std::size_t>(Column::state), from != to);
    return set;
}

std::string describe(Caller caller, JobState from, JobState to, std::string_view what)
{
    return "caller " + std::to_string(static_cast<int>(caller)) + ", " + std::string{name(from)} +
           " -> " + std::string{name(to)} + ", " + std::string{what};
}

void expect_refusal(const std::optional<Refusal> &refusal, Rule rule, Column column,
                    const std::string &what)
{
    ASSERT_TRUE(refusal.has_value()) << what;
    EXPECT_EQ(refusal->rule, rule) << what;
    EXPECT_EQ(refusal->column, column) << what << ", got " << name(refusal->column);
}

// A second, independent rule for an UPDATE that changes this one column (and the state if the
// states differ); no value = allowed.
std::optional<Rule> expected_rule(Caller caller, JobState from, JobState to, ColumnKind changed)
{
    if (caller == Caller::restore || caller == Caller::replica)
        return std::nullopt;
    if (from == JobState::final)
        return Rule::already_final;
    if (caller == Caller::hipq)
        return from == to || is_net_effect(from, to) ? std::nullopt
                                                     : std::optional{Rule::illegal_transition};
    if (from != to)
        return Rule::state_changed;
    switch (changed) {
    case ColumnKind::bookkeeping:
        return Rule::bookkeeping_changed;
    case ColumnKind::fixed:
        return Rule::fixed_changed;
    case ColumnKind::chosen:
        break;
    }
    return from == JobState::initial || from == JobState::retry ? std::nullopt
                                                                : std::optional{Rule::not_waiting};
}

Column expected_column(Rule rule, JobState from, JobState to, Column changed)
{
    if (rule == Rule::state_changed || rule == Rule::illegal_transition)
        return Column::state;
    if (rule == Rule::already_final && from != to)
        return std::min(changed, Column::state);
    return changed;
}

TEST(Guard, KindsOfColumns)
{
    const std::set<std::string_view> chosen{
        "job_data",        "scheduled_run_time", "priority",
        "throttle_factor", "throttle_key",       "time_windows",
        "timeout",         "max_retries",        "expires_time"};
    const std::set<std::string_view> fixed{"job_type",  "job_key",     "queue_ttl",
                                           "shard_key", "traceparent", "batch_id"};
    for (Column column : all_columns()) {
        const ColumnKind expected = chosen.contains(name(column))  ? ColumnKind::chosen
                                    : fixed.contains(name(column)) ? ColumnKind::fixed
                                                                   : ColumnKind::bookkeeping;
        EXPECT_EQ(kind(column), expected) << name(column);
    }
    EXPECT_EQ(columns_of_kind(ColumnKind::chosen).size(), chosen.size());
    EXPECT_EQ(columns_of_kind(ColumnKind::fixed).size(), fixed.size());
}

TEST(Guard, InsertOfEveryCallerStateAndColumn)
{
    for (Caller caller : all_callers) {
        for (JobState state : all_job_states) {
            for (Column column : columns_of_kind(ColumnKind::bookkeeping)) {
                if (column == Column::state)
                    continue;
                const std::optional<Refusal> refusal =
                    check_insert(caller, state, set_of({column}));
                const std::string what = describe(caller, state, state, name(column));
                if (caller != Caller::user)
                    EXPECT_FALSE(refusal.has_value()) << what;
                else if (state == JobState::initial)
                    expect_refusal(refusal, Rule::bookkeeping_given, column, what);
                else
                    expect_refusal(refusal, Rule::bookkeeping_given,
                                   std::min(column, Column::state), what);
            }
        }
    }
}

TEST(Guard, InsertWithoutBookkeepingIsJudgedByState)
{
    for (Caller caller : all_callers) {
        for (JobState state : all_job_states) {
            const std::optional<Refusal> refusal = check_insert(caller, state, {});
            const std::string what = describe(caller, state, state, "nothing given");
            if (caller == Caller::user && state != JobState::initial)
                expect_refusal(refusal, Rule::bookkeeping_given, Column::state, what);
            else
                EXPECT_FALSE(refusal.has_value()) << what;
        }
    }
}

TEST(Guard, InsertMayGiveWhatUsersChoose)
{
    ColumnSet given;
    for (Column column : all_columns())
        given.set(static_cast<std::size_t>(column), kind(column) != ColumnKind::bookkeeping);
    EXPECT_FALSE(check_insert(Caller::user, JobState::initial, given).has_value());
}

TEST(Guard, InsertNamesTheFirstOffendingColumn)
{
    const ColumnSet given =
        set_of({Column::result, Column::attempt, Column::worker_id, Column::job_type});
    expect_refusal(check_insert(Caller::user, JobState::final, given), Rule::bookkeeping_given,
                   Column::worker_id, "insert");
}

TEST(Guard, UpdateOfEveryCallerPairOfStatesAndColumn)
{
    for (Caller caller : all_callers) {
        for (JobState from : all_job_states) {
            for (JobState to : all_job_states) {
                for (Column column : all_columns()) {
                    if (column == Column::state)
                        continue;
                    const std::optional<Refusal> refusal =
                        check_update(caller, from, to, changes(from, to, {column}));
                    const std::optional<Rule> rule = expected_rule(caller, from, to, kind(column));
                    const std::string what = describe(caller, from, to, name(column));
                    if (rule)
                        expect_refusal(refusal, *rule, expected_column(*rule, from, to, column),
                                       what);
                    else
                        EXPECT_FALSE(refusal.has_value()) << what;
                }
            }
        }
    }
}

TEST(Guard, UpdateOfTheStateAlone)
{
    for (Caller caller : all_callers) {
        for (JobState from : all_job_states) {
            for (JobState to : all_job_states) {
                if (from == to)
                    continue;
                const std::optional<Refusal> refusal =
                    check_update(caller, from, to, changes(from, to, {}));
                const std::optional<Rule> rule =
                    expected_rule(caller, from, to, ColumnKind::bookkeeping);
                const std::string what = describe(caller, from, to, "state alone");
                if (rule)
                    expect_refusal(refusal, *rule, Column::state, what);
                else
                    EXPECT_FALSE(refusal.has_value()) << what;
            }
        }
    }
}

TEST(Guard, UpdateThatChangesNothing)
{
    for (Caller caller : all_callers) {
        for (JobState state : all_job_states) {
            const std::optional<Refusal> refusal = check_update(caller, state, state, {});
            const std::string what = describe(caller, state, state, "nothing changed");
            if (caller == Caller::hipq && state == JobState::final)
                expect_refusal(refusal, Rule::already_final, Column::state, what);
            else
                EXPECT_FALSE(refusal.has_value()) << what;
        }
    }
}

TEST(Guard, UpdateThatForgetsToReportTheStateIsStillRefused)
{
    expect_refusal(check_update(Caller::user, JobState::initial, JobState::final, {}),
                   Rule::state_changed, Column::state, "user");
    expect_refusal(check_update(Caller::hipq, JobState::error, JobState::running, {}),
                   Rule::illegal_transition, Column::state, "hipq");
}

TEST(Guard, UpdateMayChangeEverythingChosenAtOnce)
{
    ColumnSet changed;
    for (Column column : columns_of_kind(ColumnKind::chosen))
        changed.set(static_cast<std::size_t>(column));
    EXPECT_FALSE(
        check_update(Caller::user, JobState::initial, JobState::initial, changed).has_value());
    EXPECT_FALSE(check_update(Caller::user, JobState::retry, JobState::retry, changed).has_value());
    expect_refusal(check_update(Caller::user, JobState::error, JobState::error, changed),
                   Rule::not_waiting, Column::scheduled_run_time, "error");
}

TEST(Guard, UpdateNamesTheFirstColumnThatBreaksTheRule)
{
    const ColumnSet changed = set_of({Column::scheduled_run_time, Column::job_key, Column::job_type,
                                      Column::result, Column::error});
    expect_refusal(check_update(Caller::user, JobState::initial, JobState::initial, changed),
                   Rule::bookkeeping_changed, Column::error, "bookkeeping before fixed");
    const ColumnSet fixed = set_of({Column::scheduled_run_time, Column::job_key, Column::job_type});
    expect_refusal(check_update(Caller::user, JobState::running, JobState::running, fixed),
                   Rule::fixed_changed, Column::job_type, "fixed before not waiting");
    expect_refusal(check_update(Caller::user, JobState::final, JobState::final, fixed),
                   Rule::already_final, Column::scheduled_run_time, "final before all");
}

TEST(Guard, DeleteOfEveryCaller)
{
    for (Caller caller : all_callers) {
        for (JobState state : all_job_states) {
            const bool runs = state == JobState::running || state == JobState::error;
            EXPECT_EQ(check_delete(caller, true, state).has_value(), caller == Caller::user && runs)
                << name(state);
            EXPECT_EQ(check_delete(caller, false, state).has_value(), caller == Caller::user)
                << name(state);
        }
    }
    EXPECT_EQ(check_delete(Caller::user, false, JobState::running)->rule, Rule::delete_refused);
    EXPECT_EQ(check_delete(Caller::user, true, JobState::running)->rule, Rule::delete_running);
}

}  // namespace
}  // namespace hipq::core
