// Time zones for tests, written from the rules of their countries, and times as text.
#pragma once

#include "core/limits/openings.hpp"

#include <string>
#include <vector>

namespace hipq::core {

// A change of clocks that comes each year: on the n-th Sunday of a month, or the last one (0).
struct YearlyChange {
    unsigned month;
    unsigned sunday;
    std::int64_t time;    // UTC, from the beginning of that Sunday; negative: the day before
    std::int64_t offset;  // of the zone from then on
};

// A change that came once.
struct SingleChange {
    const char *time;  // UTC
    std::int64_t offset;
};

class TestZone final : public Zone {
public:
    TestZone(std::int64_t first_offset, const std::vector<YearlyChange> &yearly,
             const std::vector<SingleChange> &single = {});
    Span at(std::int64_t time) const override;

private:
    struct Change {
        std::int64_t time;
        std::int64_t offset;
    };
    std::int64_t first_offset_;
    std::vector<Change> changes_{};
};

// Berlin, New_York, Lord_Howe, Sao_Paulo, Casablanca, Apia or UTC.
const Zone &zone_of(const std::string &name);

// "2026-03-29 02:30" or "2026-03-29 02:30:15" as microseconds since 2000-01-01.
std::int64_t time_of(const std::string &text);

// As it is in the zone, with the offset in hours: "2026-03-29 03:00+2"; without the year if it is
// this one.
std::string local_text(const Zone &zone, std::int64_t time, const std::string &year);

}  // namespace hipq::core
