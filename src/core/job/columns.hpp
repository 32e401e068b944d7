// The columns of hipq.job: the only place in C++ that lists them. Names, order, types, who writes
// them, and the column lists in statements are all derived from this table.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hipq::core {

// How a column of a queue's table may be written.
enum class ColumnKind : std::uint8_t {
    chosen,       // given at INSERT and changeable while the job waits
    fixed,        // given at INSERT, constant afterwards
    bookkeeping,  // written by hipq only
};

// A domain counts as its base type.
enum class ColumnType : std::uint8_t {
    int2,
    int4,
    int8,
    numeric,
    text,
    timestamptz,
    jsonb,
    job_state,
};

// What happens to the value when a statement makes a row from another row.
enum class ColumnOrigin : std::uint8_t {
    own,      // belongs to the job: kept when the job ends, not copied to a job made from it
    given,    // was given to the job: copied to a job made from it
    attempt,  // written by the end of an attempt
    single,   // differs from statement to statement, so each statement names it
};

// In the order of the table in sql/install/job.sql: name, type, kind, origin. A test compares the
// two.
#define HIPQ_JOB_COLUMNS(COLUMN, argument)                                                         \
    COLUMN(argument, id, int8, bookkeeping, own)                                                   \
    COLUMN(argument, original_job_id, int8, bookkeeping, own)                                      \
    COLUMN(argument, retry_of, int8, bookkeeping, own)                                             \
    COLUMN(argument, worker_id, int8, bookkeeping, attempt)                                        \
    COLUMN(argument, scheduled_run_time, timestamptz, chosen, own)                                 \
    COLUMN(argument, update_time, timestamptz, bookkeeping, attempt)                               \
    COLUMN(argument, created_time, timestamptz, bookkeeping, own)                                  \
    COLUMN(argument, accepted_time, timestamptz, bookkeeping, own)                                 \
    COLUMN(argument, deadline, timestamptz, bookkeeping, attempt)                                  \
    COLUMN(argument, expires_time, timestamptz, chosen, own)                                       \
    COLUMN(argument, queue_id, int4, bookkeeping, single)                                          \
    COLUMN(argument, state, job_state, bookkeeping, attempt)                                       \
    COLUMN(argument, timeout, int4, chosen, given)                                                 \
    COLUMN(argument, attempt, int4, bookkeeping, attempt)                                          \
    COLUMN(argument, retry_count, int4, bookkeeping, own)                                          \
    COLUMN(argument, max_retries, int4, chosen, single)                                            \
    COLUMN(argument, queue_ttl, int4, fixed, given)                                                \
    COLUMN(argument, priority, int2, chosen, given)                                                \
    COLUMN(argument, throttle_factor, numeric, chosen, given)                                      \
    COLUMN(argument, job_type, text, fixed, given)                                                 \
    COLUMN(argument, job_key, text, fixed, given)                                                  \
    COLUMN(argument, error, text, bookkeeping, attempt)                                            \
    COLUMN(argument, throttle_key, text, chosen, given)                                            \
    COLUMN(argument, time_windows, text, chosen, given)                                            \
    COLUMN(argument, retry_reason, text, bookkeeping, attempt)                                     \
    COLUMN(argument, shard_key, text, fixed, given)                                                \
    COLUMN(argument, job_data, jsonb, chosen, single)                                              \
    COLUMN(argument, result, jsonb, bookkeeping, attempt)                                          \
    COLUMN(argument, manual_reason, text, bookkeeping, single)                                     \
    COLUMN(argument, traceparent, text, fixed, given)                                              \
    COLUMN(argument, waits_for, text, bookkeeping, single)                                         \
    COLUMN(argument, batch_id, int8, fixed, single)                                                \
    COLUMN(argument, schedule_time, timestamptz, bookkeeping, single)

#define HIPQ_COLUMN_ENTRY(argument, name, type, kind, origin) name,
enum class Column : std::uint8_t { HIPQ_JOB_COLUMNS(HIPQ_COLUMN_ENTRY, ) };
#undef HIPQ_COLUMN_ENTRY

struct ColumnDefinition {
    std::string_view name;
    ColumnType type;
    ColumnKind kind;
    ColumnOrigin origin;
};

#define HIPQ_COLUMN_ENTRY(argument, name, type, kind, origin)                                      \
    ColumnDefinition{#name, ColumnType::type, ColumnKind::kind, ColumnOrigin::origin},
inline constexpr std::array job_columns{HIPQ_JOB_COLUMNS(HIPQ_COLUMN_ENTRY, )};
#undef HIPQ_COLUMN_ENTRY

inline constexpr std::size_t column_count = job_columns.size();
using ColumnSet = std::bitset<column_count>;

constexpr const ColumnDefinition &definition(Column column)
{
    return job_columns[static_cast<std::size_t>(column)];
}
constexpr std::string_view name(Column column)
{
    return definition(column).name;
}
constexpr ColumnKind kind(Column column)
{
    return definition(column).kind;
}

// Returns whether the column is NOT NULL in the table.
constexpr bool is_required(Column column)
{
    return column != Column::original_job_id && column != Column::retry_of &&
           column != Column::worker_id && column != Column::queue_ttl &&
           column != Column::manual_reason && column != Column::traceparent &&
           column != Column::waits_for && column != Column::batch_id &&
           column != Column::schedule_time;
}

// Returns whether tables of the previous release lack the column. It then counts as NULL.
constexpr bool is_new(Column column)
{
    return column == Column::waits_for || column == Column::batch_id ||
           column == Column::schedule_time;
}

// Returns the column of that name; nothing: there is none.
std::optional<Column> find_column(std::string_view name);

ColumnSet columns_of(ColumnKind kind);

// The names, separated by commas, for use in SQL.
std::string column_list(ColumnKind kind);

// The columns of one origin for a statement, as a string literal in the order of the table. A comma
// precedes each: ", job.timeout, job.max_retries". `prefix` is a literal, "job." or "".
#define HIPQ_OWN_COLUMNS(prefix) HIPQ_JOB_COLUMNS(HIPQ_LIST_OWN, prefix)
#define HIPQ_GIVEN_COLUMNS(prefix) HIPQ_JOB_COLUMNS(HIPQ_LIST_GIVEN, prefix)
#define HIPQ_ATTEMPT_COLUMNS(prefix) HIPQ_JOB_COLUMNS(HIPQ_LIST_ATTEMPT, prefix)

#define HIPQ_LIST_OWN(prefix, name, type, kind, origin) HIPQ_IF_OWN_##origin(", " prefix #name)
#define HIPQ_LIST_GIVEN(prefix, name, type, kind, origin) HIPQ_IF_GIVEN_##origin(", " prefix #name)
#define HIPQ_LIST_ATTEMPT(prefix, name, type, kind, origin)                                        \
    HIPQ_IF_ATTEMPT_##origin(", " prefix #name)

#define HIPQ_IF_OWN_own(text) text
#define HIPQ_IF_OWN_given(text)
#define HIPQ_IF_OWN_attempt(text)
#define HIPQ_IF_OWN_single(text)
#define HIPQ_IF_GIVEN_own(text)
#define HIPQ_IF_GIVEN_given(text) text
#define HIPQ_IF_GIVEN_attempt(text)
#define HIPQ_IF_GIVEN_single(text)
#define HIPQ_IF_ATTEMPT_own(text)
#define HIPQ_IF_ATTEMPT_given(text)
#define HIPQ_IF_ATTEMPT_attempt(text) text
#define HIPQ_IF_ATTEMPT_single(text)

}  // namespace hipq::core
