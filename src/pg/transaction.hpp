// Transactions of background workers, and hipq's own work inside the transactions of others.
#pragma once

#include "pg/own_settings.hpp"
#include "pg/spi.hpp"

namespace hipq::pg {

// Start and end a transaction in a process that has none open. start_transaction() uses read
// committed, whatever the role's settings are; start_session_transaction() starts it as a client of
// this session would. commit_transaction() raises the errors of the commit; abort_transaction()
// does not raise.
void start_transaction();
void start_session_transaction();
void commit_transaction();
void abort_transaction() noexcept;

// Runs `fn` in a transaction of its own, with hipq's own settings, and commits. If `fn` or the
// commit raises, aborts the transaction and rethrows the exception.
template <class Function>
void with_transaction(Function &&fn)
{
    const OwnSettings own;
    start_transaction();
    try {
        fn();
        commit_transaction();
    } catch (...) {
        abort_transaction();
        throw;
    }
}

// Returns the owner of schema hipq, which owns the extension and the queues' tables. Needs a
// transaction; raises 3F000 without the schema.
Oid extension_owner();

// What as_extension_owner, as_role and as_restricted save. leave() restores it on the normal path;
// on the error path the abort does.
struct RoleScope {
    Oid user;
    int security_context;
    int guc_level;
};
RoleScope become_extension_owner();
RoleScope become(Oid role);
RoleScope become_restricted();
void leave(const RoleScope &scope);

// Runs `fn` in that scope.
template <class Function>
auto in_scope(const RoleScope &scope, Function &&fn) -> std::invoke_result_t<Function &>
{
    if constexpr (std::is_void_v<std::invoke_result_t<Function &>>) {
        fn();
        leave(scope);
    } else {
        auto result = fn();
        leave(scope);
        return result;
    }
}

// Runs `fn` as the extension owner with search_path = pg_catalog, pg_temp: for hipq's own
// statements, which run no user code. Checks about the caller must be made before.
template <class Function>
auto as_extension_owner(Function &&fn) -> std::invoke_result_t<Function &>
{
    return in_scope(become_extension_owner(), fn);
}

// Runs `fn` with the privileges of a role, as a SECURITY DEFINER function of that role would: user
// code in it gains no others by SET ROLE. Settings that it makes end with it.
template <class Function>
auto as_role(Oid role, Function &&fn) -> std::invoke_result_t<Function &>
{
    return in_scope(become(role), fn);
}

// Runs `fn` as the current user in a security-restricted operation: user code in it can defer
// nothing until the end of the transaction, and creates nothing that would stay in the session.
template <class Function>
auto as_restricted(Function &&fn) -> std::invoke_result_t<Function &>
{
    return in_scope(become_restricted(), fn);
}

}  // namespace hipq::pg
