// The identity row.
#include "identity.hpp"

#include "storage/permit.hpp"

namespace hipq::storage {

namespace {

constinit pg::Statement insert_if_new(R"(
    INSERT INTO hipq.identity (system_identifier, database_oid)
    SELECT $1, $2
    WHERE NOT EXISTS (SELECT 1 FROM hipq.queue)
    ON CONFLICT (only_row) DO NOTHING)");

constinit pg::Statement
    find_match("SELECT 1 FROM hipq.identity AS own WHERE own.system_identifier = $1 AND own.database_oid = $2");

constinit pg::Statement take_over(R"(
    INSERT INTO hipq.identity (system_identifier, database_oid)
    VALUES ($1, $2)
    ON CONFLICT (only_row) DO UPDATE
    SET system_identifier = EXCLUDED.system_identifier, database_oid = EXCLUDED.database_oid, token = EXCLUDED.token,
        created_time = EXCLUDED.created_time)");

std::int64_t system_identifier()
{
    return static_cast<std::int64_t>(::GetSystemIdentifier());
}

}  // namespace

void claim_identity_if_new()
{
    as_hipq([] { insert_if_new.run(system_identifier(), MyDatabaseId); });
}

bool is_held()
{
    return as_hipq([] { return find_match.run(system_identifier(), MyDatabaseId).empty(); });
}

void take_identity()
{
    as_hipq([] { take_over.run(system_identifier(), MyDatabaseId); });
}

}  // namespace hipq::storage
