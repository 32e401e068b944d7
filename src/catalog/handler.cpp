// Turns a stored handler into the form that an executor runs, and checks it each time.
//
// A handler that was valid at registration may have become invalid since.
#include "catalog/handler.hpp"

#include "catalog/read_handler.hpp"
#include "catalog/routine.hpp"
#include "core/recovery/crash_report.hpp"
#include "pg/compat.hpp"
#include "settings.hpp"

extern "C" {
#include "parser/parser.h"
}

namespace hipq::catalog {

namespace {

void fail(std::string *problem, std::string text)
{
    if (problem != nullptr)
        *problem = std::move(text);
}

// Returns the routine that a stored form names.
std::optional<Routine> resolve_routine(const Queue &queue, const std::string &stored,
                                       Purpose purpose, HandlerKind kind, std::string *problem)
{
    const std::optional<StoredRoutine> parsed = parse_stored(stored);
    const Oid oid = parsed.has_value() ? look_up(*parsed) : InvalidOid;
    if (!OidIsValid(oid)) {
        fail(problem, (kind == HandlerKind::procedure ? "procedure " : "function ") + stored +
                          " does not exist");
        return std::nullopt;
    }
    const Routine routine = describe(oid);
    if (const auto reason = unfitness(routine, purpose, kind); reason.has_value()) {
        fail(problem, stored + " " + *reason);
        return std::nullopt;
    }
    if (!may_execute(queue.owner, routine.oid)) {
        fail(problem, "the queue owner may not execute " + stored);
        return std::nullopt;
    }
    return routine;
}

// "public.send_welcome($1)"
std::string call_text(const std::string &stored, HandlerArguments arguments)
{
    return parse_stored(stored)->name + (has_two_parameters(arguments) ? "($1, $2)" : "($1)");
}

bool superuser_is_refused(const Queue &queue, std::string *problem)
{
    if (may_run_handlers(queue.owner))
        return false;
    fail(problem, "the queue owner is a superuser and hipq.allow_superuser_handlers is off");
    return true;
}

// ---- cached handlers ----

// Everything that resolve_handler() depends on, except for PostgreSQL's own catalogues.
struct HandlerKey {
    Oid owner;
    HandlerKind kind;
    std::string handler;
    bool superusers_may;
    auto operator<=>(const HandlerKey &) const =
        default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 sees a null pointer
};
using KnownHandlers = std::map<HandlerKey, Handler>;

constexpr std::size_t most_handlers = 1'000;
constinit KnownHandlers *known_handlers = nullptr;  // on the heap: no destructor at exit
constinit bool routines_changed = false;

extern "C" void hipq_routine_changed(Datum, pg::CacheId, uint32)
{
    routines_changed = true;
}

}  // namespace

bool may_commit(const std::string &statement)
{
    const NodeTag tag = pg::call([&] {
        List *parsed = ::raw_parser(statement.c_str(), RAW_PARSE_DEFAULT);
        return list_length(parsed) == 1 ? nodeTag(static_cast<RawStmt *>(linitial(parsed))->stmt)
                                        : T_Invalid;
    });
    return tag != T_SelectStmt && tag != T_InsertStmt && tag != T_UpdateStmt &&
           tag != T_DeleteStmt && tag != T_MergeStmt;
}

bool takes_batches(const std::string &handler, HandlerKind kind)
{
    const std::optional<StoredRoutine> parsed =
        kind == HandlerKind::function ? parse_stored(handler) : std::nullopt;
    return parsed.has_value() && is_batch(parsed->arguments);
}

std::optional<Handler> resolve_handler(const Queue &queue, const JobType &type,
                                       std::string *problem)
{
    if (type.is_without_handler()) {
        fail(problem, "the job type has no handler in the server");
        return std::nullopt;
    }
    if (superuser_is_refused(queue, problem))
        return std::nullopt;
    if (type.handler_kind == HandlerKind::statement)
        return Handler{HandlerKind::statement, HandlerArguments::id_and_data, type.handler, false,
                       may_commit(type.handler)};
    const std::optional<Routine> routine =
        resolve_routine(queue, type.handler, Purpose::handler, type.handler_kind, problem);
    if (!routine.has_value())
        return std::nullopt;
    const std::string call = call_text(type.handler, routine->arguments);
    if (type.handler_kind == HandlerKind::procedure)
        return Handler{type.handler_kind, routine->arguments, "CALL " + call, false, true};
    if (routine->result == VOIDOID)
        return Handler{type.handler_kind, routine->arguments, "SELECT " + call, true, false};
    const bool is_json = routine->result == JSONBOID ||
                         (is_batch(routine->arguments) && routine->result == JSONBARRAYOID);
    return Handler{type.handler_kind, routine->arguments,
                   is_json ? "SELECT " + call : "SELECT pg_catalog.to_jsonb(" + call + ")", true,
                   false};
}

std::optional<Handler> known_handler(const Queue &queue, const JobType &type)
{
    if (known_handlers == nullptr)
        known_handlers = new KnownHandlers();
    if (routines_changed || known_handlers->size() >= most_handlers)
        known_handlers->clear();
    routines_changed = false;  // a change during the lookup sets it again
    const HandlerKey key{queue.owner, type.handler_kind, type.handler,
                         settings::allow_superuser_handlers};
    if (const auto known = known_handlers->find(key); known != known_handlers->end())
        return known->second;
    std::optional<Handler> handler = resolve_handler(queue, type);
    if (handler.has_value())
        known_handlers->emplace(key, *handler);
    return handler;
}

void watch_routines()
{
    for (const pg::CacheId cache :
         {PROCOID, NAMESPACEOID, TYPEOID, AUTHOID, AUTHMEMROLEMEM, DATABASEOID})
        ::CacheRegisterSyscacheCallback(cache, hipq_routine_changed, Datum{0});
}

std::optional<Handler> resolve_retry_handler(const Queue &queue, const JobType &type,
                                             std::string *problem)
{
    if (type.retry_handler == "NONE") {
        fail(problem, "the job type has no retry handler");
        return std::nullopt;
    }
    if (superuser_is_refused(queue, problem))
        return std::nullopt;
    if (!is_name_of_routine(type.retry_handler))
        return Handler{HandlerKind::statement, HandlerArguments::all_of_job, type.retry_handler,
                       true, false};
    const std::optional<Routine> routine = resolve_routine(
        queue, type.retry_handler, Purpose::retry_handler, HandlerKind::function, problem);
    if (!routine.has_value())
        return std::nullopt;
    return Handler{HandlerKind::function, routine->arguments,
                   "SELECT " + call_text(type.retry_handler, routine->arguments), true, false};
}

std::optional<Handler> resolve_dead_letter_handler(const Queue &queue, std::string *problem)
{
    if (!queue.handles_dead_letters()) {
        fail(problem, "the queue has no handler of dead letters");
        return std::nullopt;
    }
    if (core::is_held_for_crashes(queue.dead_letter_crashes, settings::max_type_crashes)) {
        fail(problem, "it took the server down " + std::to_string(queue.dead_letter_crashes) +
                          " times within 10 minutes; it goes on after hipq.resume(), or with a new "
                          "one (hipq.alter_queue())");
        return std::nullopt;
    }
    if (superuser_is_refused(queue, problem))
        return std::nullopt;
    const std::optional<Routine> routine =
        resolve_routine(queue, queue.dead_letter_handler, Purpose::dead_letter_handler,
                        HandlerKind::function, problem);
    if (!routine.has_value())
        return std::nullopt;
    return Handler{HandlerKind::function, routine->arguments,
                   "SELECT " + call_text(queue.dead_letter_handler, routine->arguments), false,
                   false};
}

}  // namespace hipq::catalog
