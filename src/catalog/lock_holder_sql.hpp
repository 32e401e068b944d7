// SQL for the name of a lock's holder: a process with its role and application, or a prepared
// transaction with its name.
#pragma once

// The argument is the alias of a row of pg_locks. A prepared transaction has no process; it holds
// the lock on its own transaction id under the same virtual transaction.
#define HIPQ_LOCK_HOLDER(held)                                                                     \
    "CASE WHEN " held ".pid IS NULL"                                                               \
    " THEN coalesce((SELECT 'prepared transaction \"' || prepared.gid || '\"'"                     \
    " FROM pg_prepared_xacts AS prepared"                                                          \
    " JOIN pg_locks AS own ON own.transactionid = prepared.transaction AND own.pid IS NULL"        \
    " WHERE own.virtualtransaction = " held ".virtualtransaction LIMIT 1),"                        \
    " 'a prepared transaction')"                                                                   \
    " ELSE 'process ' || " held ".pid || coalesce("                                                \
    "(SELECT coalesce(' (role \"' || activity.usename || '\", application \"'"                     \
    " || activity.application_name || '\")', ' (' || activity.backend_type || ')')"                \
    " FROM pg_stat_activity AS activity WHERE activity.pid = " held ".pid), '') END"
