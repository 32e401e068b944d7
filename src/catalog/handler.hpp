// Handlers as an executor runs them, resolved from the text that registration stored.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

// Whether a stored handler is a function over hipq.job[], over jsonb[], or over bigint[] and
// jsonb[].
bool takes_batches(const std::string &handler, HandlerKind kind);

// What a handler is called with.
enum class HandlerArguments : unsigned char {
    none,
    job,
    data,
    id_and_data,
    all_of_job,
    jobs,
    data_of_jobs,
    ids_and_data
};

constexpr bool has_two_parameters(HandlerArguments arguments)
{
    return arguments == HandlerArguments::id_and_data ||
           arguments == HandlerArguments::ids_and_data;
}

constexpr bool is_batch(HandlerArguments arguments)
{
    return arguments == HandlerArguments::jobs || arguments == HandlerArguments::data_of_jobs ||
           arguments == HandlerArguments::ids_and_data;
}

// A handler as an executor runs it.
struct Handler {
    HandlerKind kind;
    HandlerArguments arguments;  // statement: id_and_data with $1 = job_data, $2 = id
    // Function: SELECT schema.name($1 [, $2]), which gives one jsonb (wrapped in to_jsonb() if the
    // function returns another type) or void. Procedure: CALL schema.name($1 [, $2]). Statement:
    // its text. Parameters: job -> $1 hipq.job; data -> $1 jsonb; id_and_data of a function or
    // procedure -> $1 bigint, $2 jsonb; of a statement -> $1 jsonb, $2 bigint; all_of_job, which
    // only the statement of a retry handler has -> $1 jsonb, $2 bigint, $3 hipq.job; jobs -> $1
    // hipq.job[]; data_of_jobs -> $1 jsonb[]; ids_and_data -> $1 bigint[], $2 jsonb[] in the same
    // order.
    std::string sql;
    // It returns one row with one column: jsonb, void, or for a batch handler jsonb[] with the
    // results of its jobs.
    bool returns_result;
    // It may end its transaction midway: a procedure, or a statement that is not a query.
    bool may_commit;
};

// Whether a statement may end the transaction that it runs in: any statement that is not a query,
// such as VACUUM, CALL or DO. Raises 42601 if it does not parse.
bool may_commit(const std::string &statement);

// Resolves a stored handler. Returns nothing if the function does not exist (any more), has another
// signature, or cannot be executed by the queue owner; `problem`, if given, then says why in a
// sentence fragment ("function public.f(jsonb) does not exist"). Raises no error of its own.
std::optional<Handler> resolve_handler(const Queue &queue, const JobType &type,
                                       std::string *problem = nullptr);

// The same, cached until something that the result depends on changes.
std::optional<Handler> known_handler(const Queue &queue, const JobType &type);

// Registers the callback that invalidates this cache. _PG_init calls it once; raises ERROR by
// longjmp.
void watch_routines();

// The same for a stored retry handler: SELECT schema.name(...) or a statement, either of which
// returns one interval.
std::optional<Handler> resolve_retry_handler(const Queue &queue, const JobType &type,
                                             std::string *problem = nullptr);

// The same for a queue's handler of dead letters, whose result is ignored.
std::optional<Handler> resolve_dead_letter_handler(const Queue &queue,
                                                   std::string *problem = nullptr);

}  // namespace hipq::catalog
