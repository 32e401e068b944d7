// Runs code in transactions of background processes, and as the extension owner.
#include "pg/transaction.hpp"

namespace hipq::pg {

void start_transaction()
{
    call([] {
        ::SetCurrentStatementStartTimestamp();
        ::StartTransactionCommand();
        // hipq's bookkeeping chooses its own isolation, whatever the role's settings are.
        XactIsoLevel = XACT_READ_COMMITTED;
        XactReadOnly = false;
        XactDeferrable = false;
    });
}

void start_session_transaction()
{
    call([] {
        ::SetCurrentStatementStartTimestamp();
        ::StartTransactionCommand();
    });
}

void commit_transaction()
{
    call([] {
        ::CommitTransactionCommand();
        ::pgstat_report_stat(false);
    });
}

void abort_transaction() noexcept
{
    HOLD_INTERRUPTS();
    ::AbortCurrentTransaction();
    RESUME_INTERRUPTS();
}

Oid extension_owner()
{
    const Oid schema = call([] { return ::get_namespace_oid("hipq", true); });
    if (!OidIsValid(schema))
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_SCHEMA),
                   errmsg("extension \"hipq\" is not installed in this database"),
                   errhint("Run CREATE EXTENSION hipq."));
    return call([&] {
        HeapTuple tuple = ::SearchSysCache1(NAMESPACEOID, ObjectIdGetDatum(schema));
        if (!HeapTupleIsValid(tuple))
            elog(ERROR, "cache lookup failed for namespace %u", schema);
        const Oid owner = reinterpret_cast<Form_pg_namespace>(GETSTRUCT(tuple))->nspowner;
        ::ReleaseSysCache(tuple);
        return owner;
    });
}

namespace {

// Call inside pg::call() only.
RoleScope enter_scope_of(Oid role, int limits)
{
    RoleScope scope{};
    ::GetUserIdAndSecContext(&scope.user, &scope.security_context);
    ::SetUserIdAndSecContext(role, scope.security_context | limits);
    scope.guc_level = ::NewGUCNestLevel();
    return scope;
}

}  // namespace

RoleScope become_extension_owner()
{
    const Oid owner = extension_owner();
    return call([&] {
        const RoleScope scope = enter_scope_of(owner, SECURITY_LOCAL_USERID_CHANGE);
        (void)::set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
                                  GUC_ACTION_SAVE, true, 0, false);
        return scope;
    });
}

RoleScope become(Oid role)
{
    return call([&] { return enter_scope_of(role, SECURITY_LOCAL_USERID_CHANGE); });
}

RoleScope become_restricted()
{
    return call([] { return enter_scope_of(::GetUserId(), SECURITY_RESTRICTED_OPERATION); });
}

void leave(const RoleScope &scope)
{
    call([&] {
        ::AtEOXact_GUC(false, scope.guc_level);
        ::SetUserIdAndSecContext(scope.user, scope.security_context);
    });
}

}  // namespace hipq::pg
