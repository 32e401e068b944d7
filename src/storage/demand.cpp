// The words are core's.
#include "demand.hpp"

#include "settings.hpp"

extern "C" {
#include "access/detoast.h"
}

namespace hipq::storage {

namespace {

// As stored without compression, header included.
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

}  // namespace

void demand(const std::optional<core::Problem> &problem)
{
    if (!problem.has_value())
        return;
    const int code =
        problem->kind == core::Problem::Kind::too_large ? ERRCODE_PROGRAM_LIMIT_EXCEEDED : ERRCODE_INVALID_PARAMETER_VALUE;
    HIPQ_RAISE(errcode(code), errmsg_internal("%s", problem->message.c_str()), errhint("%s", problem->hint.c_str()));
}

void check_job_data(Datum job_data)
{
    demand(core::check_job_data_size(size_of(job_data), limit()));
}

void check_result(Datum result)
{
    demand(core::check_result_size(size_of(result), limit()));
}

}  // namespace hipq::storage
