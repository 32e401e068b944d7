// Lists the databases of the server from pg_database.
#include "server/server_databases.hpp"

#include "claim/conditions.hpp"
#include "pg/transaction.hpp"

extern "C" {
#include "access/heapam.h"
#include "access/tableam.h"
#include "utils/fmgroids.h"
}

namespace hipq::server {

namespace {

constexpr int invalid_database = -2;  // datconnlimit of a database whose DROP did not finish

// Call inside pg::call() only.
bool is_open(const FormData_pg_database &database)
{
    return database.datallowconn && database.datconnlimit != invalid_database &&
           claim::is_listed(NameStr(database.datname));
}

}  // namespace

Openness openness_of(Oid database)
{
    auto openness = Openness::missing;
    pg::with_transaction([&] {
        openness = pg::call([&] {
            ScanKeyData key;
            ::ScanKeyInit(&key, Anum_pg_database_oid, BTEqualStrategyNumber, F_OIDEQ,
                          ObjectIdGetDatum(database));
            Relation relation = ::table_open(DatabaseRelationId, AccessShareLock);
            // Without a database there may be no index and no cache to read with, only the table
            // itself.
            SysScanDesc scan = ::systable_beginscan(relation, InvalidOid, false, nullptr, 1, &key);
            HeapTuple tuple = ::systable_getnext(scan);
            auto result = Openness::missing;
            if (HeapTupleIsValid(tuple))
                result = is_open(*reinterpret_cast<Form_pg_database>(GETSTRUCT(tuple)))
                             ? Openness::open
                             : Openness::closed;
            ::systable_endscan(scan);
            ::table_close(relation, AccessShareLock);
            return result;
        });
    });
    return openness;
}

std::vector<Oid> open_databases()
{
    std::vector<Oid> result;
    pg::with_transaction([&] {
        pg::call([&] {
            ::PushActiveSnapshot(::GetTransactionSnapshot());
            Relation relation = ::table_open(DatabaseRelationId, AccessShareLock);
            TableScanDesc scan = ::table_beginscan_catalog(relation, 0, nullptr);
            for (HeapTuple tuple = ::heap_getnext(scan, ForwardScanDirection);
                 HeapTupleIsValid(tuple); tuple = ::heap_getnext(scan, ForwardScanDirection)) {
                const auto *form = reinterpret_cast<Form_pg_database>(GETSTRUCT(tuple));
                if (is_open(*form))
                    result.push_back(form->oid);
            }
            ::table_endscan(scan);
            ::table_close(relation, AccessShareLock);
            ::PopActiveSnapshot();
        });
    });
    return result;
}

}  // namespace hipq::server
