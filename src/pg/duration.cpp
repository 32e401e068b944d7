// Implements the SQL type hipq.duration: reads it from texts, intervals and numbers of seconds, and
// writes it.
#include "pg/duration.hpp"

#include "pg/arguments.hpp"
#include "pg/short_text.hpp"

namespace hipq::pg {

namespace {

// Wide enough for every interval in microseconds.
using Wide = __int128;

std::int64_t saturated(Wide microseconds)
{
    return static_cast<std::int64_t>(std::clamp<Wide>(microseconds, -Wide{endless}, endless));
}

// An infinite interval (PostgreSQL 17) has the greatest field values, and becomes endless too.
std::int64_t duration_of(const Interval &interval)
{
    const Wide days = Wide{interval.month} * DAYS_PER_MONTH + interval.day;
    return saturated(days * USECS_PER_DAY + interval.time);
}

std::int64_t duration_of_seconds(std::int64_t seconds)
{
    return saturated(Wide{seconds} * USECS_PER_SEC);
}

std::int64_t duration_of_seconds(double seconds)
{
    if (std::isnan(seconds))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("a duration cannot be NaN"),
                   errhint("Give a number of seconds."));
    const double microseconds = std::round(seconds * USECS_PER_SEC);
    if (std::abs(microseconds) >= static_cast<double>(endless))
        return microseconds < 0 ? -endless : endless;
    return static_cast<std::int64_t>(microseconds);
}

// PostgreSQL reads a number without a unit as seconds.
Interval parse_interval(const std::string &text)
{
    std::optional<pg::Error> refusal;
    try {
        return pg::call([&] {
            return *DatumGetIntervalP(
                DirectFunctionCall3(::interval_in, CStringGetDatum(text.c_str()),
                                    ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
        });
    } catch (const pg::Error &error) {
        refusal = error;
    }
    const std::string shown = short_text(text, core::most_message);
    HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
               errmsg("invalid duration \"%s\"", shown.c_str()),
               errhint("Give a number of seconds, or a number with its unit, such as '5 min'."));
}

// The names that write_duration() uses for values that are no interval.
std::optional<std::int64_t> parse_endless(std::string_view text)
{
    if (text == "infinity")
        return endless;
    return text == "-infinity" ? std::optional(-endless) : std::nullopt;
}

std::int64_t parse_duration(const std::string &text)
{
    const auto found = parse_endless(text);
    return found.has_value() ? *found : duration_of(parse_interval(text));
}

const char *write_duration(std::int64_t microseconds)
{
    if (std::abs(microseconds) == endless)
        return microseconds < 0 ? "-infinity" : "infinity";
    const RawValue interval = interval_of(microseconds);
    return pg::call(
        [&] { return DatumGetCString(DirectFunctionCall1(::interval_out, interval.value)); });
}

Datum datum_of(std::int64_t duration)
{
    return pg::call([&] { return Int64GetDatum(duration); });
}

}  // namespace

RawValue interval_of(const std::optional<std::int64_t> &microseconds)
{
    if (!microseconds.has_value())
        return {INTERVALOID, Datum{0}, true};
    return pg::call([&] {
        auto *interval = static_cast<Interval *>(::palloc0(sizeof(Interval)));
        interval->day = static_cast<std::int32_t>(*microseconds / USECS_PER_DAY);
        interval->time = *microseconds % USECS_PER_DAY;
        return RawValue{INTERVALOID, IntervalPGetDatum(interval), false};
    });
}

}  // namespace hipq::pg

HIPQ_FUNCTION(hipq__duration_in)
{
    return hipq::pg::datum_of(hipq::pg::parse_duration(DatumGetCString(fcinfo->args[0].value)));
}

HIPQ_FUNCTION(hipq__duration_out)
{
    const char *written = hipq::pg::write_duration(DatumGetInt64(fcinfo->args[0].value));
    return hipq::pg::call([&] { return CStringGetDatum(::pstrdup(written)); });
}

HIPQ_FUNCTION(hipq__duration_of_text)
{
    return hipq::pg::datum_of(
        hipq::pg::parse_duration(hipq::pg::Arguments(fcinfo).text({0, "value"})));
}

HIPQ_FUNCTION(hipq__duration_of_interval)
{
    return hipq::pg::datum_of(hipq::pg::duration_of(*DatumGetIntervalP(fcinfo->args[0].value)));
}

HIPQ_FUNCTION(hipq__duration_of_smallint)
{
    return hipq::pg::datum_of(
        hipq::pg::duration_of_seconds(std::int64_t{DatumGetInt16(fcinfo->args[0].value)}));
}

HIPQ_FUNCTION(hipq__duration_of_integer)
{
    return hipq::pg::datum_of(
        hipq::pg::duration_of_seconds(std::int64_t{DatumGetInt32(fcinfo->args[0].value)}));
}

HIPQ_FUNCTION(hipq__duration_of_bigint)
{
    return hipq::pg::datum_of(
        hipq::pg::duration_of_seconds(std::int64_t{DatumGetInt64(fcinfo->args[0].value)}));
}

HIPQ_FUNCTION(hipq__duration_of_real)
{
    return hipq::pg::datum_of(
        hipq::pg::duration_of_seconds(double{DatumGetFloat4(fcinfo->args[0].value)}));
}

HIPQ_FUNCTION(hipq__duration_of_double)
{
    return hipq::pg::datum_of(hipq::pg::duration_of_seconds(DatumGetFloat8(fcinfo->args[0].value)));
}

HIPQ_FUNCTION(hipq__duration_of_numeric)
{
    return hipq::pg::datum_of(
        hipq::pg::duration_of_seconds(*hipq::pg::Arguments(fcinfo).maybe_number({0, "value"})));
}
