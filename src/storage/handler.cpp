// From what a user registers to what an executor runs. Handlers are stored as text and looked up when they run, so a function may
// be replaced, dropped and made again, dumped and restored.
#include "handler.hpp"

#include "settings.hpp"

extern "C" {
#include "common/keywords.h"
#include "parser/parser.h"
}

namespace hipq::storage {

namespace {

// What a function looks like that may be a handler: one of these lists of arguments.
constexpr std::array<std::pair<HandlerArguments, std::string_view>, 5> signatures{{
    {HandlerArguments::job, "(hipq.job)"},
    {HandlerArguments::data, "(jsonb)"},
    {HandlerArguments::id_and_data, "(bigint, jsonb)"},
    {HandlerArguments::jobs, "(hipq.job[])"},
    {HandlerArguments::data_of_jobs, "(jsonb[])"},
}};

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

// PostgreSQL regime. The row type of hipq.job, or InvalidOid.
Oid job_row_type()
{
    const Oid schema = ::get_namespace_oid("hipq", true);
    const Oid relation = OidIsValid(schema) ? ::get_relname_relid("job", schema) : InvalidOid;
    return OidIsValid(relation) ? ::get_rel_type_id(relation) : InvalidOid;
}

HandlerArguments arguments_of(const oidvector &types)
{
    if (types.dim1 == 2 && types.values[0] == INT8OID && types.values[1] == JSONBOID)
        return HandlerArguments::id_and_data;
    if (types.dim1 == 1 && types.values[0] == JSONBOID)
        return HandlerArguments::data;
    if (types.dim1 == 1 && types.values[0] == JSONBARRAYOID)
        return HandlerArguments::data_of_jobs;
    const Oid row = types.dim1 == 1 ? job_row_type() : InvalidOid;
    if (OidIsValid(row) && types.values[0] == row)
        return HandlerArguments::job;
    if (OidIsValid(row) && types.values[0] == ::get_array_type(row))
        return HandlerArguments::jobs;
    return HandlerArguments::none;
}

// PostgreSQL regime.
bool has_output_arguments(HeapTuple tuple)
{
    Oid *types = nullptr;
    char **names = nullptr;
    char *modes = nullptr;
    const int count = ::get_func_arg_info(tuple, &types, &names, &modes);
    for (int i = 0; modes != nullptr && i < count; ++i)
        if (modes[i] == PROARGMODE_OUT || modes[i] == PROARGMODE_INOUT)
            return true;
    return false;
}

// PostgreSQL regime.
Routine describe_tuple(HeapTuple tuple)
{
    const auto *procedure = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple));
    Routine routine{};
    routine.oid = procedure->oid;
    routine.kind = procedure->prokind;
    routine.returns_set = procedure->proretset;
    routine.has_variadic = OidIsValid(procedure->provariadic);
    routine.has_output = has_output_arguments(tuple);
    routine.result = procedure->prorettype;
    routine.arguments = arguments_of(procedure->proargtypes);
    return routine;
}

Routine describe(Oid oid)
{
    return pg::call([&] {
        HeapTuple tuple = ::SearchSysCache1(PROCOID, ObjectIdGetDatum(oid));
        if (!HeapTupleIsValid(tuple))
            elog(ERROR, "cache lookup failed for function %u", oid);
        const Routine routine = describe_tuple(tuple);
        ::ReleaseSysCache(tuple);
        return routine;
    });
}

// What the routine is to do: run jobs, or decide on retries.
enum class Purpose : unsigned char { handler, retry_handler };

// Why a routine cannot serve, or nothing.
std::optional<std::string> unfitness(const Routine &routine, Purpose purpose, HandlerKind wanted)
{
    if (routine.kind != PROKIND_FUNCTION && routine.kind != PROKIND_PROCEDURE)
        return "is an aggregate or a window function";
    if (routine.kind == PROKIND_PROCEDURE && (purpose == Purpose::retry_handler || wanted == HandlerKind::function))
        return "is a procedure, not a function";
    if (routine.kind == PROKIND_FUNCTION && wanted == HandlerKind::procedure)
        return "is a function, not a procedure";
    if (routine.arguments == HandlerArguments::none || routine.has_variadic)
        return "has other arguments";
    if (is_batch(routine.arguments) && (purpose == Purpose::retry_handler || routine.kind == PROKIND_PROCEDURE))
        return "takes arrays, which only a function that is a handler may";
    if (routine.kind == PROKIND_PROCEDURE)
        return routine.has_output ? std::optional<std::string>("has output arguments") : std::nullopt;
    if (routine.returns_set)
        return "returns a set";
    if (purpose == Purpose::retry_handler && routine.result != INTERVALOID)
        return "does not return interval";
    const bool is_pseudo = pg::call([&] { return ::get_typtype(routine.result) == TYPTYPE_PSEUDO; }) &&
                           routine.result != VOIDOID && routine.result != RECORDOID;
    return is_pseudo ? std::optional<std::string>("returns a pseudo-type") : std::nullopt;
}

const char *wanted_signature(Purpose purpose)
{
    return purpose == Purpose::handler
               ? "A handler is a function or procedure with arguments (hipq.job), (jsonb) or (bigint, jsonb) that "
                 "returns one value or nothing; of batches a function with arguments (hipq.job[]) or (jsonb[])."
               : "A retry handler is a function with arguments (hipq.job), (jsonb) or (bigint, jsonb) that returns "
                 "interval.";
}

// "public.send_welcome(jsonb)", as it is stored.
std::string stored_form(const Routine &routine)
{
    std::string text = pg::call([&] {
        return ::quote_qualified_identifier(::get_namespace_name(::get_func_namespace(routine.oid)),
                                            ::get_func_name(routine.oid));
    });
    for (const auto &[arguments, list] : signatures)
        if (arguments == routine.arguments)
            text += list;
    return text;
}

// Splits "name(arguments)" at the parenthesis; nothing in the second half when there is none.
std::pair<std::string, std::optional<std::string>> split_arguments(const std::string &text)
{
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '"')
            quoted = !quoted;
        if (text[i] == '(' && !quoted)
            return {text.substr(0, i), text.substr(i)};
    }
    return {text, std::nullopt};
}

// The routines of that name that the caller's search_path shows; with arguments given, the one that has exactly those.
std::vector<Oid> find_routines(const std::string &text)
{
    const auto parts = split_arguments(text);
    const std::string &name = parts.first;
    if (parts.second.has_value())
        return {pg::call([&] { return DatumGetObjectId(DirectFunctionCall1(::regprocedurein, CStringGetDatum(text.c_str()))); })};
    const FuncCandidateList candidates = pg::call([&] {
        List *names = ::stringToQualifiedNameList(name.c_str());
        return ::FuncnameGetCandidates(names, -1, NIL, false, false, false, true);
    });
    std::vector<Oid> found;
    for (FuncCandidateList candidate = candidates; candidate != nullptr; candidate = candidate->next)
        found.push_back(candidate->oid);
    return found;
}

bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

std::string trimmed(std::string_view text)
{
    while (!text.empty() && is_blank(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back()))
        text.remove_suffix(1);
    return std::string(text);
}

bool is_identifier_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || (c & 0x80) != 0;
}

// Whether a text can only be a name of a function, "schema.name" or "schema.name(types)": what is not is taken for a statement.
bool looks_like_a_name(const std::string &text)
{
    const auto [name, arguments] = split_arguments(text);
    if (arguments.has_value() && arguments->back() != ')')
        return false;
    bool quoted = false;
    const std::string bare = trimmed(name);
    for (const char c : bare) {
        if (c == '"')
            quoted = !quoted;
        else if (!quoted && c != '.' && !is_identifier_byte(c))
            return false;
    }
    // "select(1)", "values (1)": words that cannot be a function's name without quotes.
    const std::string first = bare.substr(0, bare.find('.'));
    std::string folded;
    for (const char c : first)
        folded += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (!arguments.has_value() && (folded == "vacuum" || folded == "analyze" || folded == "checkpoint"))
        return false;
    const int keyword = ::ScanKeywordLookup(folded.c_str(), &ScanKeywords);
    return keyword < 0 || ScanKeywordCategories[keyword] == UNRESERVED_KEYWORD ||
           ScanKeywordCategories[keyword] == TYPE_FUNC_NAME_KEYWORD;
}

void refuse_superuser(const Queue &queue)
{
    if (settings::allow_superuser_handlers || !pg::call([&] { return ::superuser_arg(queue.owner); }))
        return;
    const std::string name = queue.full_name();
    HIPQ_RAISE(
        errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
        errmsg("handlers are not allowed in queue \"%s\", whose owner is a superuser", name.c_str()),
        errdetail("Handlers run with the rights of the queue owner."),
        errhint(
            "Give the queue to another role with hipq.alter_queue(owner => ...), or switch hipq.allow_superuser_handlers on."));
}

// PostgreSQL regime.
bool may_execute(Oid role, Oid function)
{
    return ::pg_proc_aclcheck(function, role, ACL_EXECUTE) == ACLCHECK_OK &&
           ::pg_namespace_aclcheck(::get_func_namespace(function), role, ACL_USAGE) == ACLCHECK_OK;
}

void require_execute(const Queue &queue, const Routine &routine)
{
    if (pg::call([&] { return may_execute(queue.owner, routine.oid); }))
        return;
    const std::string name = stored_form(routine);
    HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
               errmsg("queue owner \"%s\" may not execute %s", ::GetUserNameFromId(queue.owner, false), name.c_str()),
               errdetail("Handlers run with the rights of the queue owner."),
               errhint("Grant EXECUTE on it, and USAGE on its schema, to the queue owner."));
}

// The one routine that `text` names and that fits.
Routine choose_routine(const Queue &queue, const std::string &text, Purpose purpose, HandlerKind wanted)
{
    std::vector<Routine> fitting;
    std::string problem;
    for (const Oid oid : find_routines(text)) {
        const Routine routine = describe(oid);
        if (const auto reason = unfitness(routine, purpose, wanted); reason.has_value())
            problem = *reason;
        else
            fitting.push_back(routine);
    }
    if (fitting.size() > 1)
        HIPQ_RAISE(errcode(ERRCODE_AMBIGUOUS_FUNCTION), errmsg("several functions named %s can be handlers", text.c_str()),
                   errhint("Name the argument types: %s(jsonb), for example.", text.c_str()));
    if (fitting.empty() && !problem.empty())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION), errmsg("%s cannot be a handler", text.c_str()),
                   errdetail("It %s.", problem.c_str()), errhint("%s", wanted_signature(purpose)));
    if (fitting.empty())
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_FUNCTION), errmsg("handler function %s does not exist", text.c_str()),
                   errhint("%s", wanted_signature(purpose)));
    const Routine routine = fitting.front();
    if (pg::call([&] { return ::isAnyTempNamespace(::get_func_namespace(routine.oid)); }))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION), errmsg("%s cannot be a handler", text.c_str()),
                   errdetail("It is temporary and will not exist when a job runs."));
    require_execute(queue, routine);
    return routine;
}

// One SQL statement that may stand alone in a transaction made for it.
void check_statement(const std::string &text)
{
    struct Shape {
        int statements;
        NodeTag tag;
        bool copies_to_client;
    };
    const Shape shape = pg::call([&] {
        List *parsed = ::raw_parser(text.c_str(), RAW_PARSE_DEFAULT);
        Shape found{list_length(parsed), T_Invalid, false};
        if (found.statements == 1) {
            const Node *statement = static_cast<RawStmt *>(linitial(parsed))->stmt;
            found.tag = nodeTag(statement);
            found.copies_to_client =
                IsA(statement, CopyStmt) && reinterpret_cast<const CopyStmt *>(statement)->filename == nullptr;
        }
        return found;
    });
    if (shape.statements != 1)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("a handler is one SQL statement, not %d", shape.statements),
                   errhint("Put several statements into a function."));
    if (shape.tag == T_TransactionStmt || shape.copies_to_client)
        HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("this statement cannot be a handler"),
                   errdetail("A handler neither controls transactions nor copies to or from a client."),
                   errhint("A procedure may commit midway."));
}

void refuse_empty(const std::string &handler)
{
    if (handler.empty())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("handler must not be empty"),
                   errhint("A job type without a handler has handler NONE."));
}

void fail(std::string *problem, std::string text)
{
    if (problem != nullptr)
        *problem = std::move(text);
}

// A stored form taken apart: "public.send_welcome(jsonb)".
struct StoredRoutine {
    std::string name;  // qualified and quoted
    HandlerArguments arguments;
};

std::optional<StoredRoutine> parse_stored(const std::string &stored)
{
    for (const auto &[arguments, list] : signatures)
        if (stored.size() > list.size() && stored.ends_with(list))
            return StoredRoutine{stored.substr(0, stored.size() - list.size()), arguments};
    return std::nullopt;
}

// PostgreSQL regime.
Oid first_argument(HandlerArguments arguments)
{
    switch (arguments) {
    case HandlerArguments::job:
        return job_row_type();
    case HandlerArguments::jobs:
        return ::get_array_type(job_row_type());
    case HandlerArguments::id_and_data:
        return INT8OID;
    case HandlerArguments::data_of_jobs:
        return JSONBARRAYOID;
    case HandlerArguments::data:
    case HandlerArguments::none:
        break;
    }
    return JSONBOID;
}

// Looks a stored routine up without search_path and without asking for the right to use its schema. InvalidOid when it does not
// exist.
Oid look_up(const StoredRoutine &stored)
{
    return pg::call([&] {
        List *names = ::stringToQualifiedNameList(stored.name.c_str());
        if (list_length(names) != 2)
            return InvalidOid;
        const Oid schema = ::get_namespace_oid(strVal(linitial(names)), true);
        Oid types[2] = {first_argument(stored.arguments), JSONBOID};
        oidvector *vector = ::buildoidvector(types, stored.arguments == HandlerArguments::id_and_data ? 2 : 1);
        if (!OidIsValid(schema))
            return InvalidOid;
        return ::GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, PointerGetDatum(strVal(lsecond(names))),
                                 PointerGetDatum(vector), ObjectIdGetDatum(schema));
    });
}

// The routine behind a stored form, checked as at registration: what was right then need not be now.
std::optional<Routine> resolve_routine(const Queue &queue, const std::string &stored, Purpose purpose, HandlerKind kind,
                                       std::string *problem)
{
    const std::optional<StoredRoutine> parsed = parse_stored(stored);
    const Oid oid = parsed.has_value() ? look_up(*parsed) : InvalidOid;
    if (!OidIsValid(oid)) {
        fail(problem, (kind == HandlerKind::procedure ? "procedure " : "function ") + stored + " does not exist");
        return std::nullopt;
    }
    const Routine routine = describe(oid);
    if (const auto reason = unfitness(routine, purpose, kind); reason.has_value()) {
        fail(problem, stored + " " + *reason);
        return std::nullopt;
    }
    if (!pg::call([&] { return may_execute(queue.owner, routine.oid); })) {
        fail(problem, "the queue owner may not execute " + stored);
        return std::nullopt;
    }
    return routine;
}

// "public.send_welcome($1)"
std::string call_text(const std::string &stored, HandlerArguments arguments)
{
    return parse_stored(stored)->name + (arguments == HandlerArguments::id_and_data ? "($1, $2)" : "($1)");
}

// Whether a statement may end the transaction it runs in: what is no query, as VACUUM, CALL or DO.
bool may_commit(const std::string &statement)
{
    const NodeTag tag = pg::call([&] {
        List *parsed = ::raw_parser(statement.c_str(), RAW_PARSE_DEFAULT);
        return list_length(parsed) == 1 ? nodeTag(static_cast<RawStmt *>(linitial(parsed))->stmt) : T_Invalid;
    });
    return tag != T_SelectStmt && tag != T_InsertStmt && tag != T_UpdateStmt && tag != T_DeleteStmt && tag != T_MergeStmt;
}

bool superuser_is_refused(const Queue &queue, std::string *problem)
{
    if (settings::allow_superuser_handlers || !pg::call([&] { return ::superuser_arg(queue.owner); }))
        return false;
    fail(problem, "the queue owner is a superuser and hipq.allow_superuser_handlers is off");
    return true;
}

}  // namespace

HandlerText read_handler(const Queue &queue, std::string_view handler, std::string_view kind)
{
    const std::string text = trimmed(handler);
    const std::string kind_text(kind);
    const HandlerKind wanted = parse_handler_kind(kind);
    if (wanted == HandlerKind::none && kind != "auto")
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown handler kind \"%s\"", kind_text.c_str()),
                   errhint("Known are auto, function, procedure, statement and notify."));
    refuse_empty(text);
    const bool is_none = text == "NONE";
    if (wanted == HandlerKind::notify ? !is_none : is_none && kind != "auto")
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   wanted == HandlerKind::notify ? errmsg("handler kind \"notify\" takes no handler")
                                                 : errmsg("handler kind \"%s\" needs a handler", kind_text.c_str()));
    if (is_none)
        return {"NONE", wanted};
    refuse_superuser(queue);
    if (wanted == HandlerKind::statement || (kind == "auto" && !looks_like_a_name(text))) {
        check_statement(text);
        return {text, HandlerKind::statement};
    }
    const Routine routine = choose_routine(queue, text, Purpose::handler, wanted);
    return {stored_form(routine), routine.kind == PROKIND_PROCEDURE ? HandlerKind::procedure : HandlerKind::function};
}

std::string read_retry_handler(const Queue &queue, std::string_view handler)
{
    std::string text = trimmed(handler);
    refuse_empty(text);
    if (text == "NONE")
        return text;
    refuse_superuser(queue);
    return stored_form(choose_routine(queue, text, Purpose::retry_handler, HandlerKind::function));
}

bool takes_batches(const std::string &handler, HandlerKind kind)
{
    const std::optional<StoredRoutine> parsed = kind == HandlerKind::function ? parse_stored(handler) : std::nullopt;
    return parsed.has_value() && is_batch(parsed->arguments);
}

std::optional<Handler> resolve_handler(const Queue &queue, const JobType &type, std::string *problem)
{
    if (type.handler_kind == HandlerKind::none || type.handler_kind == HandlerKind::notify) {
        fail(problem, "the job type has no handler in the server");
        return std::nullopt;
    }
    if (superuser_is_refused(queue, problem))
        return std::nullopt;
    if (type.handler_kind == HandlerKind::statement)
        return Handler{HandlerKind::statement, HandlerArguments::id_and_data, type.handler, false, may_commit(type.handler)};
    const std::optional<Routine> routine = resolve_routine(queue, type.handler, Purpose::handler, type.handler_kind, problem);
    if (!routine.has_value())
        return std::nullopt;
    const std::string call = call_text(type.handler, routine->arguments);
    if (type.handler_kind == HandlerKind::procedure)
        return Handler{type.handler_kind, routine->arguments, "CALL " + call, false, true};
    if (routine->result == VOIDOID)
        return Handler{type.handler_kind, routine->arguments, "SELECT NULL::pg_catalog.jsonb FROM " + call, true, false};
    const bool is_json = routine->result == JSONBOID || (is_batch(routine->arguments) && routine->result == JSONBARRAYOID);
    return Handler{type.handler_kind, routine->arguments, is_json ? "SELECT " + call : "SELECT pg_catalog.to_jsonb(" + call + ")",
                   true, false};
}

std::optional<Handler> resolve_retry_handler(const Queue &queue, const JobType &type, std::string *problem)
{
    if (type.retry_handler == "NONE") {
        fail(problem, "the job type has no retry handler");
        return std::nullopt;
    }
    if (superuser_is_refused(queue, problem))
        return std::nullopt;
    const std::optional<Routine> routine =
        resolve_routine(queue, type.retry_handler, Purpose::retry_handler, HandlerKind::function, problem);
    if (!routine.has_value())
        return std::nullopt;
    return Handler{HandlerKind::function, routine->arguments, "SELECT " + call_text(type.retry_handler, routine->arguments), true,
                   false};
}

}  // namespace hipq::storage
