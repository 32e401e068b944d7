/*
 * A client of hipq for measurements: an external worker in plain C over libpq.
 *
 *   worker latency CONNINFO PINGS      enqueues one job at a time in a session of its own and serves it in another; prints for
 *                                      each the microseconds from the answer to the enqueuer's commit to the handler, from
 *                                      before that was sent to the handler, and those of the commit alone
 *   worker idle CONNINFO CLIENTS       registers so many workers, each with a session that listens, prints "ready" and waits
 *                                      for the end of its input
 *
 * Queue app.main, job type ping.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libpq-fe.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double) time.tv_sec * 1e6 + (double) time.tv_nsec / 1e3;
}

static void fail(PGconn *session, const char *what)
{
    fprintf(stderr, "%s: %s", what, PQerrorMessage(session));
    exit(1);
}

static PGconn *connect_to(const char *conninfo)
{
    PGconn *session = PQconnectdb(conninfo);
    if (PQstatus(session) != CONNECTION_OK)
        fail(session, "cannot connect");
    return session;
}

static PGresult *run(PGconn *session, const char *sql, int count, const char *const *values)
{
    PGresult *result = PQexecParams(session, sql, count, NULL, values, NULL, NULL, 0);
    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
        fail(session, sql);
    return result;
}

static PGresult *run_prepared(PGconn *session, const char *name, int count, const char *const *values)
{
    PGresult *result = PQexecPrepared(session, name, count, values, NULL, NULL, 0);
    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
        fail(session, name);
    return result;
}

static void prepare(PGconn *session, const char *name, const char *sql)
{
    PGresult *result = PQprepare(session, name, sql, 0, NULL);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        fail(session, sql);
    PQclear(result);
}

/* Returns the worker's id as text. */
static char *register_worker(PGconn *session, const char *name)
{
    const char *const values[] = {name};
    PGresult *result =
        run(session, "SELECT hipq.register_worker($1, '{app.main}', '{ping}', capacity => 10, listen => true)", 1, values);
    char *id = strdup(PQgetvalue(result, 0, 0));
    PQclear(result);
    return id;
}

/* Waits for a notification, like an idle client. */
static void wait_for_notification(PGconn *session)
{
    for (;;) {
        PGnotify *notification = NULL;
        struct pollfd descriptor = {PQsocket(session), POLLIN, 0};
        PQconsumeInput(session);
        notification = PQnotifies(session);
        if (notification != NULL) {
            PQfreemem(notification);
            return;
        }
        if (poll(&descriptor, 1, 1000) < 0 && errno != EINTR)
            exit(1);
    }
}

static void drain_notifications(PGconn *session)
{
    PGnotify *notification = NULL;
    PQconsumeInput(session);
    while ((notification = PQnotifies(session)) != NULL)
        PQfreemem(notification);
}

static void measure_latency(const char *conninfo, int pings)
{
    PGconn *producer = connect_to(conninfo);
    PGconn *worker = connect_to(conninfo);
    const char *id = register_worker(worker, "measured");
    const struct timespec pause = {0, 5000000};
    prepare(producer, "enqueue", "SELECT hipq.enqueue('ping', '{}', queue => 'app.main')");
    prepare(worker, "claim", "SELECT id, attempt, job_data FROM hipq.claim($1, 10)");
    prepare(worker, "complete", "SELECT hipq.complete($1::bigint, $2::integer)");
    for (int i = 0; i < pings; ++i) {
        const double sent = now();
        double answered = 0;
        double started = 0;
        PGresult *job = NULL;
        PQclear(run_prepared(producer, "enqueue", 0, NULL));
        answered = now();
        do {
            const char *const values[] = {id};
            wait_for_notification(worker);
            PQclear(job);
            job = run_prepared(worker, "claim", 1, values);
        } while (PQntuples(job) == 0);
        started = now();
        printf("%.1f %.1f %.1f\n", started - answered, started - sent, answered - sent);
        for (int row = 0; row < PQntuples(job); ++row) {
            const char *const values[] = {PQgetvalue(job, row, 0), PQgetvalue(job, row, 1)};
            PQclear(run_prepared(worker, "complete", 2, values));
        }
        PQclear(job);
        nanosleep(&pause, NULL);
        drain_notifications(worker);
    }
    PQfinish(producer);
    PQfinish(worker);
}

static void be_idle(const char *conninfo, int clients)
{
    for (int i = 0; i < clients; ++i) {
        char name[32];
        snprintf(name, sizeof(name), "idle-%d", i);
        register_worker(connect_to(conninfo), name);
    }
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF) {
    }
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "latency") == 0)
        measure_latency(argv[2], atoi(argv[3]));
    else if (argc == 4 && strcmp(argv[1], "idle") == 0)
        be_idle(argv[2], atoi(argv[3]));
    else {
        fputs("usage: worker latency|idle CONNINFO NUMBER\n", stderr);
        return 2;
    }
    return 0;
}
