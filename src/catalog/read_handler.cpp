// Reads what a user registers as a handler: the name of a routine, or an SQL statement.
#include "catalog/read_handler.hpp"

#include "catalog/routine.hpp"
#include "pg/compat.hpp"

extern "C" {
#include "common/keywords.h"
#include "parser/parser.h"
#include "utils/builtins.h"
}

namespace hipq::catalog {

namespace {

// The words by which messages name the purpose of the text.
struct Words {
    const char *one;
    const char *several;
    const char *at_start;  // several of them, at the start of a sentence
    const char *argument;
    const char *signature;
    const char *without;  // what to write for none
};

constexpr Words words_for_handler{
    "handler",
    "handlers",
    "Handlers",
    "handler",
    "A handler is a function or procedure with arguments (hipq.job), (jsonb) or (bigint, jsonb) "
    "that returns one value or "
    "nothing; of batches a function with arguments (hipq.job[]), (jsonb[]) or (bigint[], jsonb[]).",
    "A job type without a handler has handler NONE."};

constexpr Words words_for_retry_handler{
    "retry handler",
    "retry handlers",
    "Retry handlers",
    "retry_handler",
    "A retry handler is a function with arguments (hipq.job), (jsonb) or (bigint, jsonb) that "
    "returns interval, or a query "
    "that gives one.",
    "A job type without one has retry_handler NONE."};

constexpr Words words_for_dead_letter_handler{
    "handler of dead letters",
    "handlers of dead letters",
    "Handlers of dead letters",
    "dead_letter_handler",
    "A handler of dead letters is a function with arguments (hipq.job), (jsonb) or (bigint, jsonb) "
    "that returns one value or "
    "nothing.",
    "A queue without one has dead_letter_handler NONE."};

const Words &words_for(Purpose purpose)
{
    switch (purpose) {
    case Purpose::retry_handler:
        return words_for_retry_handler;
    case Purpose::dead_letter_handler:
        return words_for_dead_letter_handler;
    case Purpose::handler:
        break;
    }
    return words_for_handler;
}

// Splits "name(arguments)" at the parenthesis; the second half is empty if there is none.
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

// Returns the routine that has exactly the arguments given, or InvalidOid.
Oid find_with_arguments(const std::string &text)
{
    return pg::call([&] {
        LOCAL_FCINFO(call, 1);
        InitFunctionCallInfoData(*call, nullptr, 1, InvalidOid, nullptr, nullptr);
        call->args[0] = {PointerGetDatum(::cstring_to_text(text.c_str())), false};
        // Gives NULL where regprocedurein() would raise an error without a hint.
        const Datum found = ::to_regprocedure(call);
        return call->isnull ? InvalidOid : DatumGetObjectId(found);
    });
}

// Returns the routines of that name that are visible in the caller's search_path; if arguments are
// given, the one that has exactly these.
std::vector<Oid> find_routines(const std::string &text)
{
    const auto parts = split_arguments(text);
    const std::string &name = parts.first;
    if (parts.second.has_value()) {
        const Oid oid = find_with_arguments(text);
        return OidIsValid(oid) ? std::vector<Oid>{oid} : std::vector<Oid>{};
    }
    const FuncCandidateList candidates = pg::call([&] {
        List *names = pg::split_name(name.c_str());
        return pg::functions_of_name(names);
    });
    std::vector<Oid> found;
    for (FuncCandidateList candidate = candidates; candidate != nullptr;
         candidate = candidate->next)
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
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (c & 0x80) != 0;
}

void refuse_superuser(const Queue &queue, Purpose purpose)
{
    if (may_run_handlers(queue.owner))
        return;
    const std::string name = queue.full_name();
    const Words &words = words_for(purpose);
    HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
               errmsg("%s are not allowed in queue \"%s\", whose owner is a superuser",
                      words.several, name.c_str()),
               errdetail("%s run with the rights of the queue owner.", words.at_start),
               errhint("Give the queue to another role with hipq.alter_queue(owner => ...), or "
                       "switch hipq.allow_superuser_handlers on."));
}

void require_execute(const Queue &queue, const Routine &routine, Purpose purpose)
{
    if (may_execute(queue.owner, routine.oid))
        return;
    const std::string name = stored_form(routine);
    HIPQ_RAISE(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
               errmsg("queue owner \"%s\" may not execute %s",
                      ::GetUserNameFromId(queue.owner, false), name.c_str()),
               errdetail("%s run with the rights of the queue owner.", words_for(purpose).at_start),
               errhint("Grant EXECUTE on it, and USAGE on its schema, to the queue owner."));
}

// Returns the one routine that `text` names and that fits.
Routine choose_routine(const Queue &queue, const std::string &text, Purpose purpose,
                       HandlerKind wanted)
{
    const Words &words = words_for(purpose);
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
        HIPQ_RAISE(errcode(ERRCODE_AMBIGUOUS_FUNCTION),
                   errmsg("several functions named %s can be %s", text.c_str(), words.several),
                   errhint("Name the argument types: %s(jsonb), for example.", text.c_str()));
    if (fitting.empty() && !problem.empty())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
                   errmsg("%s cannot be a %s", text.c_str(), words.one),
                   errdetail("It %s.", problem.c_str()), errhint("%s", words.signature));
    if (fitting.empty())
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_FUNCTION),
                   errmsg("%s %s does not exist", words.one, text.c_str()),
                   errhint("%s", words.signature));
    const Routine routine = fitting.front();
    if (pg::call([&] { return ::isAnyTempNamespace(::get_func_namespace(routine.oid)); }))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
                   errmsg("%s cannot be a %s", text.c_str(), words.one),
                   errdetail("It is temporary and will not exist when a job runs."));
    require_execute(queue, routine, purpose);
    return routine;
}

// What raw parsing says of a text.
struct Shape {
    int statements;
    NodeTag tag;
    bool copies_to_client;
};

Shape shape_of(const std::string &text)
{
    return pg::call([&] {
        List *parsed = ::raw_parser(text.c_str(), RAW_PARSE_DEFAULT);
        Shape found{list_length(parsed), T_Invalid, false};
        if (found.statements == 1) {
            const Node *statement = static_cast<RawStmt *>(linitial(parsed))->stmt;
            found.tag = nodeTag(statement);
            found.copies_to_client =
                IsA(statement, CopyStmt) &&
                reinterpret_cast<const CopyStmt *>(statement)->filename == nullptr;
        }
        return found;
    });
}

// Checks that the text is one SQL statement that can run in a transaction of its own.
void check_statement(const std::string &text)
{
    const Shape shape = shape_of(text);
    if (shape.statements != 1)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("a handler is one SQL statement, not %d", shape.statements),
                   errhint("Put several statements into a function."));
    if (shape.tag == T_TransactionStmt || shape.copies_to_client)
        HIPQ_RAISE(
            errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("this statement cannot be a handler"),
            errdetail("A handler neither controls transactions nor copies to or from a client."),
            errhint("A procedure may commit midway."));
}

// Checks a retry handler that is not a function.
void check_query(const std::string &text)
{
    const Shape shape = shape_of(text);
    if (shape.statements != 1)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("a retry handler is one query, not %d statements", shape.statements),
                   errhint("%s", words_for_retry_handler.signature));
    if (may_commit(text))
        HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                   errmsg("this statement cannot be a retry handler"),
                   errdetail("It gives no interval."),
                   errhint("%s", words_for_retry_handler.signature));
}

void refuse_empty(const std::string &handler, Purpose purpose)
{
    const Words &words = words_for(purpose);
    if (handler.empty())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("%s must not be empty", words.argument), errhint("%s", words.without));
}

// Reads a function other than the handler of a job type, or "NONE".
std::string read_function(const Queue &queue, std::string_view name, Purpose purpose)
{
    std::string text = trimmed(name);
    refuse_empty(text, purpose);
    if (text == "NONE")
        return text;
    refuse_superuser(queue, purpose);
    return stored_form(choose_routine(queue, text, purpose, HandlerKind::function));
}

}  // namespace

bool is_name_of_routine(const std::string &text)
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
    // In "select(1)" and "values (1)" the first word cannot be the name of a function without
    // quotes.
    const std::string first = bare.substr(0, bare.find('.'));
    std::string folded;
    for (const char c : first)
        folded += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (!arguments.has_value() &&
        (folded == "vacuum" || folded == "analyze" || folded == "checkpoint"))
        return false;
    const int keyword = ::ScanKeywordLookup(folded.c_str(), &ScanKeywords);
    return keyword < 0 || ScanKeywordCategories[keyword] == UNRESERVED_KEYWORD ||
           ScanKeywordCategories[keyword] == TYPE_FUNC_NAME_KEYWORD;
}

HandlerText read_handler(const Queue &queue, std::string_view handler, std::string_view kind)
{
    const std::string text = trimmed(handler);
    const std::string kind_text(kind);
    const HandlerKind wanted = parse_handler_kind(kind);
    if (wanted == HandlerKind::none && kind != "auto")
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("unknown handler kind \"%s\"", kind_text.c_str()),
                   errhint("Known are auto, function, procedure, statement and notify."));
    refuse_empty(text, Purpose::handler);
    const bool is_none = text == "NONE";
    if (wanted == HandlerKind::notify ? !is_none : is_none && kind != "auto")
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   wanted == HandlerKind::notify
                       ? errmsg("handler kind \"notify\" takes no handler")
                       : errmsg("handler kind \"%s\" needs a handler", kind_text.c_str()));
    if (is_none)
        return {"NONE", wanted};
    refuse_superuser(queue, Purpose::handler);
    if (wanted == HandlerKind::statement || (kind == "auto" && !is_name_of_routine(text))) {
        check_statement(text);
        return {text, HandlerKind::statement};
    }
    const Routine routine = choose_routine(queue, text, Purpose::handler, wanted);
    return {stored_form(routine),
            routine.kind == PROKIND_PROCEDURE ? HandlerKind::procedure : HandlerKind::function};
}

std::string read_retry_handler(const Queue &queue, std::string_view handler)
{
    std::string text = trimmed(handler);
    if (text.empty() || text == "NONE" || is_name_of_routine(text))
        return read_function(queue, text, Purpose::retry_handler);
    refuse_superuser(queue, Purpose::retry_handler);
    check_query(text);
    return text;
}

std::string read_dead_letter_handler(const Queue &queue, std::string_view handler)
{
    return read_function(queue, handler, Purpose::dead_letter_handler);
}

}  // namespace hipq::catalog
