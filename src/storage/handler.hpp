// Handlers: from what a user registers to what an executor can run.
#pragma once

#include "storage/catalogue.hpp"

namespace hipq::storage {

// What registration stores.
struct HandlerText {
    std::string handler;  // "schema.name(argument types)" fully qualified, one SQL statement, or "NONE"
    HandlerKind kind;
};

// Reads what the user gave: a function or procedure by name ("send_welcome", "public.send_welcome(jsonb)"), looked up with the
// caller's search_path, or one SQL statement. `kind` is 'auto', 'function', 'procedure', 'statement' or 'notify'. Raises 42883
// (no such function), 42725 (several fit: name the argument types), 42P13 (wrong arguments or result), 22023 (unknown kind,
// several statements, notify with a handler), 42601 (statement does not parse), 42501 (queue owner may not execute it; the queue
// owner is a superuser and hipq.allow_superuser_handlers is off).
HandlerText read_handler(const Queue &queue, std::string_view handler, std::string_view kind);

// A retry handler: function (hipq.job | jsonb | bigint, jsonb) RETURNS interval. Returns the stored form, "NONE" for "NONE". Same
// errors.
std::string read_retry_handler(const Queue &queue, std::string_view handler);

// Whether a stored handler is a function over hipq.job[] or jsonb[].
bool takes_batches(const std::string &handler, HandlerKind kind);

// What a handler is called with.
enum class HandlerArguments : unsigned char { none, job, data, id_and_data, jobs, data_of_jobs };

constexpr bool is_batch(HandlerArguments arguments)
{
    return arguments == HandlerArguments::jobs || arguments == HandlerArguments::data_of_jobs;
}

// A handler as an executor runs it.
struct Handler {
    HandlerKind kind;
    HandlerArguments arguments;  // statement: id_and_data with $1 = job_data, $2 = id
    // Function: SELECT schema.name($1 [, $2]) giving one jsonb (wrapped in to_jsonb() where the function returns another type;
    // NULL for void). Procedure: CALL schema.name($1 [, $2]). Statement: its text. Parameters: job -> $1 hipq.job; data -> $1
    // jsonb; id_and_data of a function or procedure -> $1 bigint, $2 jsonb; of a statement -> $1 jsonb, $2 bigint; jobs -> $1
    // hipq.job[]; data_of_jobs -> $1 jsonb[].
    std::string sql;
    bool returns_result;  // one row with one column: jsonb, or of a batch handler jsonb[] with the results of its jobs
    bool may_commit;      // it may end its transaction midway: a procedure, or a statement that is no query
};

// Resolves a stored handler. Nothing when the function does not exist (any more), has another signature, or the queue owner may
// not execute it; then `problem`, if given, says why in a sentence fragment ("function public.f(jsonb) does not exist"). Raises
// nothing of its own.
std::optional<Handler> resolve_handler(const Queue &queue, const JobType &type, std::string *problem = nullptr);

// The same for a stored retry handler: SELECT schema.name(...) giving one interval.
std::optional<Handler> resolve_retry_handler(const Queue &queue, const JobType &type, std::string *problem = nullptr);

}  // namespace hipq::storage
