// Pins the settings that a database or role must not change for hipq's processes.
#include "pinned_settings.hpp"

#include "pg/guard.hpp"

extern "C" {
#include "mb/pg_wchar.h"
}

namespace hipq::process {

namespace {

struct Pinned {
    const char *name;
    const char *value;
};

// What each could do otherwise: read or write other tables, or none; end a statement; give times,
// names and values another form or meaning; make tables where none can be; end the process at its
// first error; be slow.
constexpr Pinned pinned[] = {
    {"search_path", "pg_catalog, pg_temp"},
    {"session_replication_role", "origin"},
    {"row_security", "off"},
    {"statement_timeout", "0"},
    {"lock_timeout", "0"},
    {"idle_in_transaction_session_timeout", "0"},
    {"transaction_timeout", "0"},  // from PostgreSQL 17 on
    {"default_transaction_read_only", "off"},
    {"default_transaction_isolation", "read committed"},
    {"default_transaction_deferrable", "off"},
    {"TimeZone", "UTC"},
    {"DateStyle", "ISO, YMD"},
    {"IntervalStyle", "postgres"},
    {"bytea_output", "hex"},
    {"extra_float_digits", "1"},
    {"standard_conforming_strings", "on"},
    {"array_nulls", "on"},
    {"transform_null_equals", "off"},
    {"quote_all_identifiers", "off"},
    {"default_tablespace", ""},
    {"temp_tablespaces", ""},
    {"default_table_access_method", "heap"},
    {"default_toast_compression", "pglz"},
    {"exit_on_error", "off"},
    {"jit", "off"},
    {"work_mem", "4MB"},
};

// Where this server has it.
void pin(const Pinned &setting)
{
    pg::call([&] {
        if (::GetConfigOption(setting.name, true, false) != nullptr)
            ::SetConfigOption(setting.name, setting.value, PGC_SUSET, PGC_S_OVERRIDE);
    });
}

}  // namespace

void pin_settings()
{
    for (const Pinned &setting : pinned)
        pin(setting);
    const char *encoding = ::GetDatabaseEncodingName();
    pin({"client_encoding", encoding});
}

void pin_settings_of_executor()
{
    pin({"exit_on_error", "off"});
}

}  // namespace hipq::process
