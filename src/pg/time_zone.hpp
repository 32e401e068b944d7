// Time zones of the server, by name.
#pragma once

#include "pg/postgres.hpp"
#include "core/limits/openings.hpp"

namespace hipq::pg {

class TimeZone final : public core::Zone {
public:
    // Nothing: the server has none of that name, in whatever case its letters are.
    static std::optional<TimeZone> find(const std::string &name);

    std::string name() const;  // as the server writes it
    // Whether pg_timezone_names has it. What the server takes for a zone may also be a rule such as
    // "CET-1CEST", which says when clocks are changed once and for all.
    bool is_listed() const;

    Span at(std::int64_t time) const override;

private:
    explicit TimeZone(pg_tz *zone) : zone_(zone) {}
    pg_tz *zone_;  // PostgreSQL keeps it as long as the process lives
};

// What setting TimeZone is, and what it is when nobody has SET it.
std::string session_time_zone();
std::string default_time_zone();

}  // namespace hipq::pg
