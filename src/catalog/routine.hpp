// A function or procedure of the database as hipq sees it: whether it can be a handler, and the
// text under which hipq stores it. hipq stores a name and looks it up at run time, so the function
// can be replaced, dropped and recreated, dumped and restored.
#pragma once

#include "catalog/handler.hpp"

namespace hipq::catalog {

// A function as pg_proc describes it: plain data.
struct Routine {
    Oid oid;
    char kind;  // PROKIND_...
    bool returns_set;
    bool has_variadic;
    bool has_output;  // OUT or INOUT arguments
    Oid result;
    HandlerArguments arguments;
};

// Raises an error if there is no such function.
Routine describe(Oid oid);

// What the routine is used for: running jobs, deciding on retries, or handling dead letters.
enum class Purpose : unsigned char { handler, retry_handler, dead_letter_handler };

// Returns why a routine cannot serve the purpose, or nothing if it can.
std::optional<std::string> unfitness(const Routine &routine, Purpose purpose, HandlerKind wanted);

// The text to store, such as "public.send_welcome(jsonb)".
std::string stored_form(const Routine &routine);

// A stored form, parsed.
struct StoredRoutine {
    std::string name;  // qualified and quoted
    HandlerArguments arguments;
};
std::optional<StoredRoutine> parse_stored(const std::string &stored);

// Looks up a stored routine without search_path and without checking USAGE on its schema. Returns
// InvalidOid if it does not exist.
Oid look_up(const StoredRoutine &stored);

// Whether a role may execute a function: it needs EXECUTE on it and USAGE on its schema.
bool may_execute(Oid role, Oid function);

// Whether SQL handlers may run as a role. They must not run as a superuser unless
// hipq.allow_superuser_handlers is on.
bool may_run_handlers(Oid role);

}  // namespace hipq::catalog
