// Implements the SQL types hipq.duration and hipq.time_or_duration: reads them from texts,
// intervals, and numbers of seconds or times, and writes them.
#include "pg/duration.hpp"

#include "core/text/length_text.hpp"
#include "pg/arguments.hpp"
#include "pg/short_text.hpp"

extern "C" {
#include "utils/date.h"
}

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

// ---- a time or a duration ----

std::int64_t parse_time(const std::string &text)
{
    return pg::call([&] {
        return DatumGetTimestampTz(
            DirectFunctionCall3(::timestamptz_in, CStringGetDatum(text.c_str()),
                                ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
    });
}

// Returns nothing if the text is of another kind. The reading of a text holds nothing that an error
// would leave behind.
std::optional<std::int64_t> try_to_parse(std::int64_t (*parse)(const std::string &),
                                         const std::string &text)
{
    try {
        return parse(text);
    } catch (const pg::Error &error) {
        if (ERRCODE_TO_CATEGORY(error.sqlerrcode()) != ERRCODE_DATA_EXCEPTION)
            throw;
    }
    return std::nullopt;
}

Datum datum_of(TimeOrDuration value)
{
    return pg::call([&] {
        auto *kept = static_cast<TimeOrDuration *>(::palloc(sizeof(TimeOrDuration)));
        *kept = value;
        return PointerGetDatum(kept);
    });
}

const char *write_time(std::int64_t time)
{
    return pg::call([&] {
        return DatumGetCString(DirectFunctionCall1(::timestamptz_out, TimestampTzGetDatum(time)));
    });
}

// Reads a time of the session's zone.
Datum local_time(PGFunction to_timestamptz, Datum value)
{
    const std::int64_t time =
        pg::call([&] { return DatumGetTimestampTz(DirectFunctionCall1(to_timestamptz, value)); });
    return datum_of(TimeOrDuration{time, 0});
}

}  // namespace

TimeOrDuration read_time_or_duration(const std::string &text)
{
    if (const auto time = try_to_parse(parse_time, text))
        return {*time, 0};
    if (core::names_unit(text))
        if (const auto duration = try_to_parse(parse_duration, text))
            return {*duration, 1};
    const std::string shown = short_text(text, core::most_message);
    HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
               errmsg("\"%s\" is neither a time nor a duration", shown.c_str()),
               errhint("Give a time with its date, such as '2026-12-24 18:00+01', or a duration "
                       "with its unit, such as '2 hours'."));
}

Time TimeOrDuration::at(Time now) const
{
    if (is_duration == 0)
        return Time{microseconds};
    const Wide end = Wide{now.value} + microseconds;
    return end >= infinity.value ? infinity : Time{saturated(end)};
}

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

HIPQ_FUNCTION(hipq__time_or_duration_in)
{
    return hipq::pg::datum_of(
        hipq::pg::read_time_or_duration(DatumGetCString(fcinfo->args[0].value)));
}

HIPQ_FUNCTION(hipq__time_or_duration_out)
{
    const auto &value =
        *reinterpret_cast<const hipq::pg::TimeOrDuration *>(DatumGetPointer(fcinfo->args[0].value));
    const char *written = value.is_duration != 0 ? hipq::pg::write_duration(value.microseconds)
                                                 : hipq::pg::write_time(value.microseconds);
    return hipq::pg::call([&] { return CStringGetDatum(::pstrdup(written)); });
}

HIPQ_FUNCTION(hipq__time_or_duration_of_text)
{
    return hipq::pg::datum_of(
        hipq::pg::read_time_or_duration(hipq::pg::Arguments(fcinfo).text({0, "value"})));
}

HIPQ_FUNCTION(hipq__time_or_duration_of_interval)
{
    const std::int64_t length = hipq::pg::duration_of(*DatumGetIntervalP(fcinfo->args[0].value));
    return hipq::pg::datum_of(hipq::pg::TimeOrDuration{length, 1});
}

HIPQ_FUNCTION(hipq__time_or_duration_of_timestamptz)
{
    return hipq::pg::datum_of(
        hipq::pg::TimeOrDuration{DatumGetTimestampTz(fcinfo->args[0].value), 0});
}

HIPQ_FUNCTION(hipq__time_or_duration_of_timestamp)
{
    return hipq::pg::local_time(::timestamp_timestamptz, fcinfo->args[0].value);
}

HIPQ_FUNCTION(hipq__time_or_duration_of_date)
{
    return hipq::pg::local_time(::date_timestamptz, fcinfo->args[0].value);
}
