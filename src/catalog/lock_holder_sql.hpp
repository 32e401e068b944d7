// SQL for the name of who holds a lock: a process, with its role and application, or a prepared
// transaction, with its name.
#pragma once

// Of a row of pg_locks with this alias. A prepared transaction has no process; it holds the lock of
// its own number by the same virtual transaction.
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
