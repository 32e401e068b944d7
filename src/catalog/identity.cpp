// Reads and completes the row of hipq.identity: which server and database may run the jobs.
#include "catalog/identity.hpp"

#include "pg/internal_write.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::catalog {

namespace {

constinit pg::Statement insert_if_new(R"(
    INSERT INTO hipq.identity (system_identifier, database_oid, token)
    SELECT $1, $2, $3::uuid
    WHERE NOT EXISTS (SELECT 1 FROM hipq.queue)
    ON CONFLICT (only_row) DO NOTHING)");

constinit pg::Statement find_token(R"(
    SELECT own.token::text FROM hipq.identity AS own WHERE own.system_identifier = $1 AND own.database_oid = $2)");

constinit pg::Statement
    write_token("UPDATE hipq.identity SET token = $1::uuid WHERE token IS NULL");

constinit pg::Statement take_over(R"(
    INSERT INTO hipq.identity (system_identifier, database_oid, token)
    VALUES ($1, $2, $3::uuid)
    ON CONFLICT (only_row) DO UPDATE
    SET system_identifier = EXCLUDED.system_identifier, database_oid = EXCLUDED.database_oid, token = EXCLUDED.token,
        created_time = EXCLUDED.created_time)");

std::int64_t system_identifier()
{
    return static_cast<std::int64_t>(::GetSystemIdentifier());
}

// A server without hipq preloaded runs nothing, so it need not know whether it is a copy.
bool goes_on_with_any_token()
{
    return !memory::is_loaded() || memory::registry()->server_mark.goes_on;
}

}  // namespace

std::optional<std::string> own_token()
{
    if (!memory::is_loaded() || !memory::registry()->server_mark.is_known)
        return std::nullopt;
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const unsigned char byte : memory::registry()->server_mark.token) {
        if (text.size() == 8 || text.size() == 13 || text.size() == 18 || text.size() == 23)
            text += '-';
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

void claim_identity_if_new()
{
    pg::as_hipq([] { insert_if_new.run(system_identifier(), MyDatabaseId, own_token()); });
}

bool is_held()
{
    return pg::as_hipq([] {
        const pg::Rows rows = find_token.run(system_identifier(), MyDatabaseId);
        if (rows.empty())
            return true;
        const std::optional<std::string> token = rows.front().maybe_text(0);
        return token.has_value() && !goes_on_with_any_token() && token != own_token();
    });
}

void complete_identity()
{
    if (const auto token = own_token())
        pg::as_hipq([&] { write_token.run(*token); });
}

void take_identity()
{
    pg::as_hipq([] { take_over.run(system_identifier(), MyDatabaseId, own_token()); });
}

}  // namespace hipq::catalog
