// Refuses what a handler is not permitted to do in a client's session.
//
// Two hooks of PostgreSQL check it: utility statements, and access to objects.
#include "execute/execute.hpp"
#include "execute/temporary_objects.hpp"

extern "C" {
#include "catalog/objectaccess.h"
#include "catalog/pg_language.h"
#include "tcop/cmdtag.h"
}

namespace hipq::execute {

namespace {

constinit const Visit *present_visit = nullptr;
constinit object_access_hook_type previous_access_hook = nullptr;

// ---- statements ----

// EXECUTE can also be inside EXPLAIN and CREATE TABLE AS, which run it without calling any hook.
const Node *innermost(const Node *statement)
{
    const Node *inner = nullptr;
    if (IsA(statement, ExplainStmt))
        inner = reinterpret_cast<const ExplainStmt *>(statement)->query;
    else if (IsA(statement, CreateTableAsStmt))
        inner = reinterpret_cast<const CreateTableAsStmt *>(statement)->query;
    if (inner != nullptr && IsA(inner, Query))
        inner = reinterpret_cast<const Query *>(inner)->utilityStmt;
    return inner == nullptr ? statement : innermost(inner);
}

bool is_about_the_session(const Node *statement)
{
    switch (nodeTag(statement)) {
    case T_PrepareStmt:
    case T_ExecuteStmt:
    case T_DeallocateStmt:
    case T_DiscardStmt:
    case T_ListenStmt:
    case T_UnlistenStmt:
    case T_LoadStmt:
        return true;
    default:
        return false;
    }
}

// ---- functions ----

[[noreturn]] void refuse(const char *verb, const char *what)
{
    HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
               errmsg("cannot %s %s in a handler that runs in a client's session", verb, what),
               errdetail("The session and what it holds are the client's."),
               errhint("Leave the job to an executor: commit, and wait with hipq.wait_for()."));
}

struct Source {
    const char *symbol;   // of a C function
    const char *library;  // null: the server itself
};

// Returns nothing for a function that is not in C. Call inside pg::call() only.
Source source_of(Oid function)
{
    HeapTuple tuple = ::SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple))
        return {nullptr, nullptr};
    const Oid language = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple))->prolang;
    Source source{nullptr, nullptr};
    bool is_null = true;
    if (language == INTERNALlanguageId || language == ClanguageId) {
        const Datum symbol = ::SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &is_null);
        source.symbol = is_null ? nullptr : TextDatumGetCString(symbol);
    }
    if (language == ClanguageId) {
        const Datum library = ::SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_probin, &is_null);
        source.library = is_null ? nullptr : TextDatumGetCString(library);
    }
    ::ReleaseSysCache(tuple);
    return source;
}

// Functions on session locks, large object descriptors and replication origins: how their names in
// C begin.
constexpr std::array<std::string_view, 11> functions_of_session{"pg_advisory_lock",
                                                                "pg_try_advisory_lock",
                                                                "pg_advisory_unlock",
                                                                "be_lo_open",
                                                                "be_loread",
                                                                "be_lowrite",
                                                                "be_lo_lseek",
                                                                "be_lo_tell",
                                                                "be_lo_truncate",
                                                                "be_lo_close",
                                                                "pg_replication_origin_session"};

bool is_dblink(std::string_view library)
{
    const std::string_view file = library.substr(library.find_last_of('/') + 1);
    return file == "dblink" || file == "dblink.so";
}

bool is_about_the_session(const Source &source)
{
    if (source.library != nullptr)
        return is_dblink(source.library);
    return source.symbol != nullptr &&
           std::any_of(functions_of_session.begin(), functions_of_session.end(), [&](auto start) {
               return std::string_view(source.symbol).starts_with(start);
           });
}

void check_function(Oid function)
{
    if (is_about_the_session(pg::call([&] { return source_of(function); })))
        refuse("call", pg::call([&] { return ::format_procedure(function); }));
}

void check_access(ObjectAccessType access, Oid catalogue, Oid object)
{
    if (access == OAT_FUNCTION_EXECUTE)
        check_function(object);
    else if (access != OAT_NAMESPACE_SEARCH &&
             present_visit->clients_objects().contains({catalogue, object}))
        refuse_change_of_temporary_objects();
}

extern "C" void hipq_object_access(ObjectAccessType access, Oid catalogue, Oid object, int part,
                                   void *argument)
{
    if (previous_access_hook != nullptr)
        previous_access_hook(access, catalogue, object, part, argument);
    if (present_visit != nullptr)
        pg::enter([&] { check_access(access, catalogue, object); });
}

}  // namespace

Visit::Visit(Objects clients_objects) : clients_objects_(std::move(clients_objects))
{
    present_visit = this;
}

Visit::~Visit()
{
    present_visit = nullptr;
}

bool is_visit()
{
    return present_visit != nullptr;
}

void check_utility_in_visit(const Node *statement)
{
    if (present_visit == nullptr)
        return;
    const Node *inner = innermost(statement);
    if (is_about_the_session(inner))
        refuse("execute", pg::call([&] { return ::CreateCommandName(const_cast<Node *>(inner)); }));
}

void watch_visits()
{
    previous_access_hook = object_access_hook;
    object_access_hook = hipq_object_access;
}

}  // namespace hipq::execute
