// Time zones of the server, by name.
#pragma once

#include "pg/postgres.hpp"
#include "core/limits/openings.hpp"

namespace hipq::pg {

class TimeZone final : public core::Zone {
public:
    // Nothing: the server has no zone of that name, in either case of letters.
    static std::optional<TimeZone> find(const std::string &name);

    std::string name() const;  // as the server writes it
    // Returns whether pg_timezone_names lists it. The server also accepts a rule such as
    // "CET-1CEST" as a zone, which fixes once and for all when clocks are changed.
    bool is_listed() const;

    Span at(std::int64_t time) const override;

private:
    explicit TimeZone(pg_tz *zone) : zone_(zone) {}
    pg_tz *zone_;  // PostgreSQL keeps it for the life of the process
};

// The value of setting TimeZone, and its value without a SET.
std::string session_time_zone();
std::string default_time_zone();

}  // namespace hipq::pg
