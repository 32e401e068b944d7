// Handlers: converts what a user registers into what is stored.
#pragma once

#include "catalog/cache.hpp"

namespace hipq::catalog {

// What registration stores.
struct HandlerText {
    // "schema.name(argument types)" fully qualified, one SQL statement, or "NONE".
    std::string handler;
    HandlerKind kind;
};

// Reads what the user gave: a function or procedure by name ("send_welcome",
// "public.send_welcome(jsonb)"), looked up with the caller's search_path, or one SQL statement.
// `kind` is 'auto', 'function', 'procedure', 'statement' or 'notify'. Raises 42883 (no such
// function), 42725 (several match: name the argument types), 42P13 (wrong arguments or result),
// 22023 (unknown kind, several statements, notify with a handler), 42601 (statement does not
// parse), 42501 (queue owner may not execute it; the queue owner is a superuser and
// hipq.allow_superuser_handlers is off).
HandlerText read_handler(const Queue &queue, std::string_view handler, std::string_view kind);

// A retry handler: a function (hipq.job | jsonb | bigint, jsonb) RETURNS interval, or a query whose
// first value is an interval, with $1 = job_data, $2 = id and $3 = the job. Returns the text to
// store, "NONE" for "NONE". Raises the same errors.
std::string read_retry_handler(const Queue &queue, std::string_view handler);

// A handler of dead letters: a function (hipq.job | jsonb | bigint, jsonb). Returns and raises
// likewise.
std::string read_dead_letter_handler(const Queue &queue, std::string_view handler);

// Whether a text, as registered or stored, can only be the name of a function, "schema.name" or
// "schema.name(types)". Any other text is treated as a statement.
bool is_name_of_routine(const std::string &text);

}  // namespace hipq::catalog
