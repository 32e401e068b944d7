// Loads time zones as PostgreSQL has read them.
#include "pg/time_zone.hpp"

#include "pg/guard.hpp"

namespace hipq::pg {

namespace {

constexpr pg_time_t epoch = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;

pg_time_t unix_time(std::int64_t time)
{
    return time / USECS_PER_SEC - (time % USECS_PER_SEC < 0 ? 1 : 0) + epoch;
}

// Walks over the whole tz database. Call inside pg::call() only.
bool is_enumerated(const char *name)
{
    pg_tzenum *zones = ::pg_tzenumerate_start();
    pg_tz *zone = nullptr;
    do
        zone = ::pg_tzenumerate_next(zones);
    while (zone != nullptr && std::strcmp(::pg_get_timezone_name(zone), name) != 0);
    ::pg_tzenumerate_end(zones);
    return zone != nullptr;
}

}  // namespace

std::optional<TimeZone> TimeZone::find(const std::string &name)
{
    if (name.empty() || name.size() > TZ_STRLEN_MAX)
        return std::nullopt;
    pg_tz *zone = pg::call([&] {
        pg_tz *found = ::pg_tzset(name.c_str());
        return found != nullptr && ::pg_tz_acceptable(found) ? found : nullptr;
    });
    return zone == nullptr ? std::nullopt : std::optional(TimeZone(zone));
}

std::string TimeZone::name() const
{
    return ::pg_get_timezone_name(zone_);
}

bool TimeZone::is_listed() const
{
    const std::string own = name();
    if (own.find_first_of("0123456789") == std::string::npos)  // every rule contains an offset
        return true;
    return pg::call([&] { return is_enumerated(own.c_str()); });
}

core::Zone::Span TimeZone::at(std::int64_t time) const
{
    const pg_time_t asked = unix_time(time);
    long offset = 0;
    long next_offset = 0;
    int is_dst = 0;
    int next_is_dst = 0;
    pg_time_t change = 0;
    if (::pg_next_dst_boundary(&asked, &offset, &is_dst, &change, &next_offset, &next_is_dst,
                               zone_) <= 0)
        return {offset * USECS_PER_SEC, core::never};
    return {offset * USECS_PER_SEC, (change - epoch) * USECS_PER_SEC};
}

std::string session_time_zone()
{
    return ::pg_get_timezone_name(session_timezone);
}

std::string default_time_zone()
{
    const char *name = pg::call([] { return ::GetConfigOptionResetString("TimeZone"); });
    return name == nullptr ? "GMT" : name;
}

}  // namespace hipq::pg
