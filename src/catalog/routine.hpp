// A function or procedure of the database as hipq sees it: what can be a handler, and the form in
// which it is stored. Stored as text and looked up when it runs, it may be replaced, dropped and
// made again, dumped and restored.
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

// Raises when there is none.
Routine describe(Oid oid);

// What the routine is to do: run jobs, decide on retries, or handle dead letters.
enum class Purpose : unsigned char { handler, retry_handler, dead_letter_handler };

// Why a routine cannot serve, or nothing.
std::optional<std::string> unfitness(const Routine &routine, Purpose purpose, HandlerKind wanted);

// "public.send_welcome(jsonb)", as it is stored.
std::string stored_form(const Routine &routine);

// A stored form taken apart.
struct StoredRoutine {
    std::string name;  // qualified and quoted
    HandlerArguments arguments;
};
std::optional<StoredRoutine> parse_stored(const std::string &stored);

// Looks a stored routine up without search_path and without asking for the right to use its schema.
// InvalidOid when it does not exist.
Oid look_up(const StoredRoutine &stored);

// Whether a role may execute a function: the right to it, and to use its schema.
bool may_execute(Oid role, Oid function);

// Whether SQL handlers may run as a role: not as a superuser, unless hipq.allow_superuser_handlers
// is on.
bool may_run_handlers(Oid role);

}  // namespace hipq::catalog
