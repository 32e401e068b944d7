// Reads the extension's version from pg_extension, for which PostgreSQL has no cache.
#include "pg/extension.hpp"

extern "C" {
#include "catalog/indexing.h"
#include "utils/fmgroids.h"
}

namespace hipq::pg {

namespace {

// Call inside pg::call() only.
char *version_in(HeapTuple tuple, TupleDesc descriptor)
{
    bool is_null = true;
    const Datum version = ::heap_getattr(tuple, Anum_pg_extension_extversion, descriptor, &is_null);
    return is_null ? nullptr : TextDatumGetCString(version);
}

}  // namespace

std::optional<std::string> installed_version()
{
    const char *version = call([]() -> const char * {
        Relation extensions = ::table_open(ExtensionRelationId, AccessShareLock);
        ScanKeyData name;
        ::ScanKeyInit(&name, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ,
                      CStringGetDatum("hipq"));
        SysScanDesc scan =
            ::systable_beginscan(extensions, ExtensionNameIndexId, true, nullptr, 1, &name);
        HeapTuple tuple = ::systable_getnext(scan);
        const char *found =
            HeapTupleIsValid(tuple) ? version_in(tuple, RelationGetDescr(extensions)) : nullptr;
        ::systable_endscan(scan);
        ::table_close(extensions, AccessShareLock);
        return found;
    });
    return version == nullptr ? std::nullopt : std::optional<std::string>(version);
}

}  // namespace hipq::pg
