// Raises the errors of rules in core.
#include "pg/demand.hpp"

#include "core/job/bounds.hpp"
#include "core/limits/breaker_text.hpp"
#include "core/limits/rate_text.hpp"
#include "core/limits/time_windows.hpp"
#include "core/text/characters.hpp"
#include "pg/json_shape.hpp"
#include "settings.hpp"

extern "C" {
#include "access/detoast.h"
}

namespace hipq::pg {

namespace {

// The uncompressed size, header included.
std::size_t size_of(Datum value)
{
    const auto *content = reinterpret_cast<const struct varlena *>(DatumGetPointer(value));
    if (VARATT_IS_EXTERNAL(content) || VARATT_IS_COMPRESSED(content))
        return pg::call([&] { return ::toast_raw_datum_size(value); });
    return VARSIZE_ANY_EXHDR(content) + VARHDRSZ;
}

std::size_t limit()
{
    return static_cast<std::size_t>(settings::max_job_data) * 1024;
}

void demand_shape(const char *what, Datum json, std::size_t size, std::size_t most_bytes)
{
    const auto most_depth = core::most_json_depth;
    const std::size_t most_text = core::most_text_of_json(most_bytes);
    if (!core::may_exceed(size, most_depth, most_text))
        return;
    const JsonShape shape = json_shape(json, most_depth, most_text);
    demand(core::check_json_depth(what, shape.depth, most_depth));
    demand(core::check_json_text_size(what, shape.text_bytes, most_text));
}

}  // namespace

void demand(const std::optional<core::Problem> &problem)
{
    if (!problem.has_value())
        return;
    const int code = problem->kind == core::Problem::Kind::too_large
                         ? ERRCODE_PROGRAM_LIMIT_EXCEEDED
                         : ERRCODE_INVALID_PARAMETER_VALUE;
    HIPQ_RAISE(errcode(code), errmsg_internal("%s", problem->message.c_str()),
               errhint("%s", problem->hint.c_str()));
}

void check_job_data(Datum job_data)
{
    const std::size_t size = size_of(job_data);
    demand(core::check_job_data_size(size, limit()));
    demand_shape("job_data", job_data, size, limit());
}

void check_result(Datum result)
{
    const std::size_t size = size_of(result);
    demand(core::check_result_size(size, limit()));
    demand_shape("result", result, size, limit());
}

void check_description(const char *name, Datum json)
{
    const std::size_t size = size_of(json);
    demand(core::check_size_of(name, size, core::most_description));
    demand_shape(name, json, size, core::most_description);
}

std::string canonical_rate(const std::string &text)
{
    if (core::equals_ignoring_case(text, core::none_text))
        return std::string(core::none_text);
    const auto parsed = core::parse_rate(text);
    if (const auto *problem = std::get_if<core::ParseProblem>(&parsed))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("invalid rate: \"%s\"", text.c_str()),
                   errdetail("At position %zu: %s.", problem->position, problem->message.c_str()),
                   errhint("Write for example '100/min', '5/s' or '1000/day', or 'NONE'."));
    return core::canonical(std::get<core::Rate>(parsed));
}

std::string canonical_breaker(const std::string &text)
{
    if (core::equals_ignoring_case(text, core::none_text))
        return std::string(core::none_text);
    const auto parsed = core::parse_breaker(text);
    if (const auto *problem = std::get_if<core::ParseProblem>(&parsed))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("invalid breaker: \"%s\"", text.c_str()),
                   errdetail("At position %zu: %s.", problem->position, problem->message.c_str()),
                   errhint("Write for example '50%% of 20 in 1 min, open 30 s', or 'NONE'."));
    return core::canonical(std::get<core::BreakerRule>(parsed));
}

std::string canonical_time_windows(const std::string &text)
{
    const auto parsed = core::parse_time_windows(text);
    if (const auto *problem = std::get_if<core::ParseProblem>(&parsed))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("invalid time windows: \"%s\"", text.c_str()),
                   errdetail("At position %zu: %s.", problem->position, problem->message.c_str()),
                   errhint("Write for example 'mon-fri 09:00-17:00' or '22:00-06:00'."));
    return core::canonical(std::get<core::TimeWindows>(parsed));
}

}  // namespace hipq::pg
