// Pins the settings that a database or role must not change for hipq's processes.
#include "process/process.hpp"

#include "pg/compat.hpp"
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

// Otherwise these settings could make statements read or write other tables, or none; end a
// statement; give times, names and values another form or meaning; create tables where that is
// impossible; end the process at its first error; or make it slow.
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

// Skips settings that this server does not have.
void pin(const Pinned &setting)
{
    pg::call([&] {
        if (::GetConfigOption(setting.name, true, false) != nullptr)
            ::SetConfigOption(setting.name, setting.value, PGC_SUSET, PGC_S_OVERRIDE);
    });
}

// ---- call inside pg::call() only ----

// The values in the server's configuration, from before this process connected to a database.
struct ServerSetting {
    config_generic *setting;
    const char *value;
};
constinit ServerSetting *of_server = nullptr;
constinit std::size_t count_of_server = 0;

bool may_be_of_database(const config_generic &setting)
{
    const bool is_own = std::string_view(setting.name).starts_with("hipq.");
    return !is_own && (setting.context == PGC_USERSET || setting.context == PGC_SUSET) &&
           (setting.flags & GUC_DISALLOW_IN_FILE) == 0;
}

void note_settings()
{
    const pg::AllSettings all = pg::all_settings();
    of_server = static_cast<ServerSetting *>(
        ::MemoryContextAlloc(TopMemoryContext, all.count * sizeof(ServerSetting)));
    for (std::size_t i = 0; i < all.count; ++i) {
        const char *value = may_be_of_database(*all.list[i])
                                ? ::GetConfigOption(all.list[i]->name, true, false)
                                : nullptr;
        if (value != nullptr)
            of_server[count_of_server++] = {all.list[i],
                                            ::MemoryContextStrdup(TopMemoryContext, value)};
    }
}

bool comes_from_database_or_role(const config_generic &setting)
{
    return setting.source >= PGC_S_GLOBAL && setting.source <= PGC_S_DATABASE_USER;
}

void restore(const ServerSetting &server)
{
    const char *name = server.setting->name;
    ::SetConfigOption(name, server.value, PGC_SUSET, PGC_S_OVERRIDE);
    ereport(DEBUG1, errmsg_internal("hipq: \"%s\" is \"%s\", as in the server's configuration",
                                    name, ::GetConfigOption(name, true, false)));
}

void restore_settings()
{
    for (std::size_t i = 0; i < count_of_server; ++i)
        if (comes_from_database_or_role(*of_server[i].setting))
            restore(of_server[i]);
}

// ---- ordinary C++ ----

}  // namespace

void connect(Oid database)
{
    pg::call([&] {
        note_settings();
        ::BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);
    });
}

void pin_settings()
{
    pg::call([] { restore_settings(); });
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
