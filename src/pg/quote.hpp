// Identifiers and literals for statements that cannot take them as parameters (DDL).
#pragma once

#include "pg/guard.hpp"

namespace hipq::pg {

// app_mail_live, "order": one identifier.
inline std::string quote_name(std::string_view name)
{
    const std::string copy(name);
    return pg::call([&] { return ::quote_identifier(copy.c_str()); });
}

// hipq.app_mail_live, hipq."order": a relation in hipq's schema.
inline std::string quote_table(std::string_view table)
{
    return "hipq." + quote_name(table);
}

// 'it''s'
inline std::string quote_literal(std::string_view text)
{
    const std::string copy(text);
    return pg::call([&] { return ::quote_literal_cstr(copy.c_str()); });
}

}  // namespace hipq::pg
