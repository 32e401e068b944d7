/* libpq: results as text, and once more as binary. */
#define _GNU_SOURCE
#include <endian.h>
#include <libpq-fe.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { bool_oid = 16, int8_oid = 20, int2_oid = 21, int4_oid = 23, numeric_oid = 1700,
       timestamptz_oid = 1184, jsonb_oid = 3802, text_array_oid = 1009 };
enum { most_fields = 40 };

static PGconn *connection;

static PGresult *run(const char *statement, int count, const char *const *values, int format)
{
    return PQexecParams(connection, statement, count, NULL, values, NULL, NULL, format);
}

static PGresult *must(PGresult *result)
{
    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK) {
        fprintf(stderr, "%s", PQresultErrorMessage(result));
        exit(1);
    }
    return result;
}

static void command(const char *statement) { PQclear(must(PQexec(connection, statement))); }

static int16_t two_bytes(const char *from)
{
    uint16_t number;
    memcpy(&number, from, sizeof number);
    return (int16_t)be16toh(number);
}

static int32_t four_bytes(const char *from)
{
    uint32_t number;
    memcpy(&number, from, sizeof number);
    return (int32_t)be32toh(number);
}

static int64_t eight_bytes(const char *from)
{
    uint64_t number;
    memcpy(&number, from, sizeof number);
    return (int64_t)be64toh(number);
}

/* Digits of four, the first of which counts 10000^weight. */
static double number_of(const char *from)
{
    double number = 0, unit = 1;
    int digits = two_bytes(from), weight = two_bytes(from + 2);
    for (; weight > 0; weight--)
        unit *= 10000;
    for (; weight < 0; weight++)
        unit /= 10000;
    for (int i = 0; i < digits; i++, unit /= 10000)
        number += unit * two_bytes(from + 8 + 2 * i);
    return number;
}

static void print_without(const char *text, const char *unwanted)
{
    for (; *text != '\0'; text++)
        if (strchr(unwanted, *text) == NULL)
            putchar(*text);
}

/* An array is its dimensions, whether there is a NULL, type, length and first index. The length of
 * each item is before the item. */
static void print_array(const char *from)
{
    int count = four_bytes(from + 12);
    from += 20;
    for (int i = 0; i < count; i++) {
        int length = four_bytes(from);
        printf("%s%.*s", i > 0 ? "," : "", length, from + 4);
        from += 4 + length;
    }
}

static void print_binary(const PGresult *result, int column)
{
    const char *value = PQgetvalue(result, 0, column);
    switch (PQftype(result, column)) {
    case bool_oid: printf("%s", *value ? "true" : "false"); break;
    case int2_oid: printf("%d", two_bytes(value)); break;
    case int4_oid: printf("%d", four_bytes(value)); break;
    case int8_oid: printf("%lld", (long long)eight_bytes(value)); break;
    case numeric_oid: printf("%g", number_of(value)); break;
    case timestamptz_oid:  /* from 2000 on */
        printf("%lld", (long long)(eight_bytes(value) / 1000 + 946684800000));
        break;
    case jsonb_oid: print_without(value + 1, " "); break;  /* behind its version */
    case text_array_oid: print_array(value); break;
    default: printf("%s", value);
    }
}

static void print_time(const char *text)
{
    struct tm time = {0};
    const char *rest = strptime(text, "%Y-%m-%d %H:%M:%S", &time);
    char *zone;
    double fraction = *rest == '.' ? strtod(rest, &zone) : (zone = (char *)rest, 0);
    printf("%lld", (long long)((timegm(&time) - 3600 * strtol(zone, NULL, 10)) * 1000 +
                               (long long)(fraction * 1000)));
}

static void print_text(const PGresult *result, int column)
{
    const char *value = PQgetvalue(result, 0, column);
    switch (PQftype(result, column)) {
    case bool_oid: printf("%s", *value == 't' ? "true" : "false"); break;
    case numeric_oid: printf("%g", strtod(value, NULL)); break;
    case timestamptz_oid: print_time(value); break;
    case jsonb_oid: print_without(value, " "); break;
    case text_array_oid: print_without(value, "{}"); break;
    default: printf("%s", value);
    }
}

static void print_value(const PGresult *result, int column, int format)
{
    if (PQgetisnull(result, 0, column))
        printf("NULL");
    else if (format == 1)
        print_binary(result, column);
    else
        print_text(result, column);
}

static void read_relation(const char *relation, int format)
{
    char statement[200];
    snprintf(statement, sizeof statement, "SELECT * FROM %s", relation);
    PGresult *result = must(run(statement, 0, NULL, format));
    printf("read\t%s\t%d\n", relation, PQntuples(result));
    PQclear(result);
}

static void read_value(const char *statement, int format)
{
    PGresult *result = must(run(statement, 0, NULL, format));
    printf("value\t%s\t", statement);
    print_value(result, 0, format);
    putchar('\n');
    PQclear(result);
}

static void call(const char *statement, int count, char **given, int format)
{
    const char *values[most_fields];
    for (int i = 0; i < count; i++)
        values[i] = strcmp(given[i], "\\N") == 0 ? NULL : given[i];
    command("BEGIN");
    PGresult *result = run(statement, count, values, format);
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    printf("call\t%s\t%s\n", statement, state == NULL ? "00000" : state);
    PQclear(result);
    command("ROLLBACK");
}

static void do_line(char *line, int format)
{
    char *fields[most_fields];
    int count = 0;
    for (char *field; (field = strsep(&line, "\t\n")) != NULL;)
        fields[count++] = field;
    count--; /* what is behind the end of the line */
    if (strcmp(fields[0], "read") == 0)
        read_relation(fields[1], format);
    else if (strcmp(fields[0], "value") == 0)
        read_value(fields[1], format);
    else
        call(fields[1], count - 2, fields + 2, format);
}

static char *example(void)
{
    /* manual */
    const char *job[] = {"{\"to\": \"ann@example.com\"}", "5 min", "0.5"};
    PGresult *row = PQexecParams(connection,
        "SELECT hipq.enqueue('external', $1, 'app.drivers', timeout => $2, throttle_factor => $3)",
        3, NULL, job, NULL, NULL, 0);
    char ids[32];
    snprintf(ids, sizeof ids, "{%s}", PQgetvalue(row, 0, 0));
    const char *attempts[] = {ids, "{1}"};
    PGresult *done = PQexecParams(connection, "SELECT hipq.complete_attempts($1, $2)",
        2, NULL, attempts, NULL, NULL, 0);
    /* manual */
    PQclear(must(done));
    char *id = strdup(PQgetvalue(row, 0, 0));
    PQclear(row);
    return id;
}

static void print_example(void)
{
    command("BEGIN");
    const char *id = example();
    PGresult *job = must(
        run("SELECT timeout, throttle_factor, job_data FROM hipq.jobs_detail WHERE id = $1", 1,
            &id, 0));
    printf("example");
    for (int column = 0; column < PQnfields(job); column++) {
        putchar('\t');
        print_value(job, column, 0);
    }
    putchar('\n');
    PQclear(job);
    command("ROLLBACK");
}

int main(int argc, char **argv)
{
    char line[10000];
    connection = PQconnectdb("dbname=postgres");
    for (int format = 0; format <= 1; format++) {
        FILE *list = argc == 2 ? fopen(argv[1], "r") : NULL;
        if (list == NULL || PQstatus(connection) != CONNECTION_OK) {
            fprintf(stderr, "driver LIST: %s", PQerrorMessage(connection));
            return 1;
        }
        while (fgets(line, sizeof line, list) != NULL)
            do_line(line, format);
        fclose(list);
    }
    print_example();
    PQfinish(connection);
    return 0;
}
