// Transactions of background workers, and hipq's own work inside other people's transactions.
#pragma once

#include "own_settings.hpp"
#include "spi.hpp"

namespace hipq::pg {

// Starts and ends a transaction in a process that has none open: in read committed, whatever the role's settings say, or as a
// client's would start in this session. commit() raises what the commit raises; abort() does not raise.
void start_transaction();
void start_session_transaction();
void commit_transaction();
void abort_transaction() noexcept;

// Runs `fn` in a transaction of its own, with hipq's own settings, and commits. When `fn` or the commit raises, the transaction
// is aborted and the exception goes on.
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

// The owner of schema hipq: who owns the extension and the queues' tables. Needs a transaction; raises 3F000 without the schema.
Oid extension_owner();

// What as_extension_owner saves and puts back on the normal path; on the error path the abort does it.
struct OwnerScope {
    Oid user;
    int security_context;
    int guc_level;
};
OwnerScope become_extension_owner();
void leave_extension_owner(const OwnerScope &scope);

// Runs `fn` as the extension owner with search_path = pg_catalog, pg_temp: for hipq's own statements, which run no user code.
// Whatever `fn` is to check about the caller is checked before.
template <class Function>
auto as_extension_owner(Function &&fn) -> std::invoke_result_t<Function &>
{
    const OwnerScope scope = become_extension_owner();
    if constexpr (std::is_void_v<std::invoke_result_t<Function &>>) {
        fn();
        leave_extension_owner(scope);
    } else {
        auto result = fn();
        leave_extension_owner(scope);
        return result;
    }
}

}  // namespace hipq::pg
