// Reads functions and procedures from pg_proc, and builds the text under which hipq stores one.
#include "catalog/routine.hpp"

#include "pg/compat.hpp"
#include "settings.hpp"

namespace hipq::catalog {

namespace {

// The argument lists that a handler function may have.
constexpr std::array<std::pair<HandlerArguments, std::string_view>, 6> signatures{{
    {HandlerArguments::job, "(hipq.job)"},
    {HandlerArguments::data, "(jsonb)"},
    {HandlerArguments::id_and_data, "(bigint, jsonb)"},
    {HandlerArguments::jobs, "(hipq.job[])"},
    {HandlerArguments::data_of_jobs, "(jsonb[])"},
    {HandlerArguments::ids_and_data, "(bigint[], jsonb[])"},
}};

// Returns the row type of hipq.job, or InvalidOid. Call inside pg::call() only.
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
    if (types.dim1 == 2 && types.values[0] == INT8ARRAYOID && types.values[1] == JSONBARRAYOID)
        return HandlerArguments::ids_and_data;
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

// Call inside pg::call() only.
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

// Call inside pg::call() only.
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

// Call inside pg::call() only.
Oid first_argument(HandlerArguments arguments)
{
    switch (arguments) {
    case HandlerArguments::job:
        return job_row_type();
    case HandlerArguments::jobs:
        return ::get_array_type(job_row_type());
    case HandlerArguments::id_and_data:
        return INT8OID;
    case HandlerArguments::ids_and_data:
        return INT8ARRAYOID;
    case HandlerArguments::data_of_jobs:
        return JSONBARRAYOID;
    case HandlerArguments::data:
    case HandlerArguments::all_of_job:
    case HandlerArguments::none:
        break;
    }
    return JSONBOID;
}

}  // namespace

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

std::optional<std::string> unfitness(const Routine &routine, Purpose purpose, HandlerKind wanted)
{
    if (routine.kind != PROKIND_FUNCTION && routine.kind != PROKIND_PROCEDURE)
        return "is an aggregate or a window function";
    if (routine.kind == PROKIND_PROCEDURE &&
        (purpose != Purpose::handler || wanted == HandlerKind::function))
        return "is a procedure, not a function";
    if (routine.kind == PROKIND_FUNCTION && wanted == HandlerKind::procedure)
        return "is a function, not a procedure";
    if (routine.arguments == HandlerArguments::none || routine.has_variadic)
        return "has other arguments";
    if (is_batch(routine.arguments) &&
        (purpose != Purpose::handler || routine.kind == PROKIND_PROCEDURE))
        return "takes arrays, which only a function that handles batches may";
    if (routine.kind == PROKIND_PROCEDURE)
        return routine.has_output ? std::optional<std::string>("has output arguments")
                                  : std::nullopt;
    if (routine.returns_set)
        return "returns a set";
    if (purpose == Purpose::retry_handler && routine.result != INTERVALOID)
        return "does not return interval";
    const bool is_pseudo =
        pg::call([&] { return ::get_typtype(routine.result) == TYPTYPE_PSEUDO; }) &&
        routine.result != VOIDOID && routine.result != RECORDOID;
    return is_pseudo ? std::optional<std::string>("returns a pseudo-type") : std::nullopt;
}

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

std::optional<StoredRoutine> parse_stored(const std::string &stored)
{
    for (const auto &[arguments, list] : signatures)
        if (stored.size() > list.size() && stored.ends_with(list))
            return StoredRoutine{stored.substr(0, stored.size() - list.size()), arguments};
    return std::nullopt;
}

Oid look_up(const StoredRoutine &stored)
{
    return pg::call([&] {
        List *names = pg::split_name(stored.name.c_str());
        if (list_length(names) != 2)
            return InvalidOid;
        const Oid schema = ::get_namespace_oid(strVal(linitial(names)), true);
        const Oid data = is_batch(stored.arguments) ? JSONBARRAYOID : JSONBOID;
        Oid types[2] = {first_argument(stored.arguments), data};
        oidvector *vector = ::buildoidvector(types, has_two_parameters(stored.arguments) ? 2 : 1);
        if (!OidIsValid(schema))
            return InvalidOid;
        return ::GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
                                 PointerGetDatum(strVal(lsecond(names))), PointerGetDatum(vector),
                                 ObjectIdGetDatum(schema));
    });
}

bool may_execute(Oid role, Oid function)
{
    return pg::call([&] {
        return pg::has_right(ProcedureRelationId, function, role, ACL_EXECUTE) &&
               pg::has_right(NamespaceRelationId, ::get_func_namespace(function), role, ACL_USAGE);
    });
}

bool may_run_handlers(Oid role)
{
    return settings::allow_superuser_handlers || !pg::call([&] { return ::superuser_arg(role); });
}

}  // namespace hipq::catalog
