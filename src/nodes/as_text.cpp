// Writes times in ISO 8601 format, and jsonb as JSON.
#include "nodes/nodes.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "utils/datetime.h"
#include "utils/json.h"
#include "utils/jsonb.h"
}

namespace hipq::nodes {

std::string text_of(pg::Time time)
{
    std::array<char, MAXDATELEN + 1> buffer{};
    return pg::call([&] {
        return ::JsonEncodeDateTime(buffer.data(), TimestampTzGetDatum(time.value), TIMESTAMPTZOID,
                                    nullptr);
    });
}

std::optional<std::string> text_of(pg::RawValue json)
{
    if (json.null)
        return std::nullopt;
    return pg::call([&] {
        Jsonb *content = DatumGetJsonbP(json.value);
        return static_cast<const char *>(
            ::JsonbToCString(nullptr, &content->root, VARSIZE_ANY(content)));
    });
}

pg::Time time_of(const std::string &microseconds)
{
    constexpr std::int64_t epoch = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
    return microseconds == "infinity" ? pg::infinity : pg::Time{std::stoll(microseconds) - epoch};
}

pg::RawValue json_of(const std::string &text)
{
    return {JSONBOID, pg::call([&] {
                return DirectFunctionCall1(::jsonb_in, CStringGetDatum(text.c_str()));
            }),
            false};
}

}  // namespace hipq::nodes
