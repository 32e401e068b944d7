// Quotes identifiers and literals for statements that cannot take them as parameters (DDL).
#pragma once

#include "pg/guard.hpp"

namespace hipq::pg {

// A single identifier: app_mail_live, "order".
inline std::string quote_name(std::string_view name)
{
    const std::string copy(name);
    return pg::call([&] { return ::quote_identifier(copy.c_str()); });
}

// A relation in hipq's schema: hipq.app_mail_live, hipq."order".
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
