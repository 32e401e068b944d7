// Reads the arguments of SQL functions and builds their results.
//
// The detoasting macros can raise, so each stands inside pg::call().
#include "pg/arguments.hpp"

#include "pg/demand.hpp"
#include "pg/version_mismatch.hpp"

extern "C" {
#include "access/detoast.h"
#include "funcapi.h"
}

namespace hipq::pg {

namespace {

// A text owned by PostgreSQL.
struct Bytes {
    const char *data;
    std::size_t size;
};

Bytes bytes_of(const struct varlena *value)
{
    return {VARDATA_ANY(value), static_cast<std::size_t>(VARSIZE_ANY_EXHDR(value))};
}

// Call inside pg::call() only. A value larger than `most` is measured but not read. (Not in the
// class: its member text() hides the type of that name, which the macro needs.)
Bytes detoasted_bytes(Datum value, std::size_t most)
{
    const std::size_t size = ::toast_raw_datum_size(value) - VARHDRSZ;
    return size > most ? Bytes{nullptr, size} : bytes_of(DatumGetTextPP(value));
}

struct Elements {
    Datum *values;
    bool *nulls;
    int count;
};

Elements elements_of(Datum datum)
{
    return pg::call([&] {
        Elements found{};
        ArrayType *array = DatumGetArrayTypeP(datum);
        const Oid type = ARR_ELEMTYPE(array);
        std::int16_t length = 0;
        bool by_value = false;
        char alignment = 0;
        ::get_typlenbyvalalign(type, &length, &by_value, &alignment);
        ::deconstruct_array(array, type, length, by_value, alignment, &found.values, &found.nulls,
                            &found.count);
        return found;
    });
}

[[noreturn]] void raise_null_element(const char *name)
{
    HIPQ_RAISE(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
               errmsg("argument \"%s\" must not contain nulls", name));
}

template <class Number>
std::vector<Number> numbers_of(const Elements &elements, const char *name,
                               Number (*number_of)(Datum))
{
    std::vector<Number> numbers;
    for (int element = 0; element < elements.count; ++element) {
        if (elements.nulls[element])
            raise_null_element(name);
        numbers.push_back(number_of(elements.values[element]));
    }
    return numbers;
}

// For declarations that a script of another version may have made differently.
[[noreturn]] void raise_other_declaration(FunctionCallInfo fcinfo, const char *problem)
{
    const char *function = pg::call([&] { return ::format_procedure(fcinfo->flinfo->fn_oid); });
    pg::require_fit("function " + std::string(function) + " " + problem);
    HIPQ_RAISE(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
               errmsg("function %s %s", function, problem),
               errhint("The functions of hipq are declared by its script alone."));
}

void check_length(Argument which, std::size_t bytes, std::size_t most)
{
    if (bytes > most)
        demand(core::check_size_of(("argument \"" + std::string(which.name()) + "\"").c_str(),
                                   bytes, most));
}

void check_count(Argument which, int elements, std::size_t most)
{
    const auto count = static_cast<std::size_t>(elements);
    if (count > most)
        demand(core::check_count_of(("argument \"" + std::string(which.name()) + "\"").c_str(),
                                    count, most));
}

// Returns the names of the IN arguments. A function of hipq names each.
std::vector<std::string> declared_names(FunctionCallInfo fcinfo)
{
    char **names = nullptr;
    char *modes = nullptr;
    const int count = pg::call([&] {
        HeapTuple function = ::SearchSysCache1(PROCOID, ObjectIdGetDatum(fcinfo->flinfo->fn_oid));
        if (!HeapTupleIsValid(function))
            return 0;
        Oid *types = nullptr;
        const int all = ::get_func_arg_info(function, &types, &names, &modes);
        ::ReleaseSysCache(function);
        return names == nullptr ? 0 : all;
    });
    std::vector<std::string> declared;
    for (int i = 0; i < count; ++i)
        if (modes == nullptr || (modes[i] != PROARGMODE_OUT && modes[i] != PROARGMODE_TABLE))
            declared.emplace_back(names[i]);
    return declared;
}

}  // namespace

std::optional<int> Arguments::find(const char *name) const
{
    if (names_.empty())
        names_ = declared_names(fcinfo_);
    const auto found = std::find(names_.begin(), names_.end(), name);
    return found == names_.end() ? std::nullopt : std::optional<int>(found - names_.begin());
}

bool Arguments::takes(Argument which) const
{
    return which.position().has_value() ? *which.position() < fcinfo_->nargs
                                        : find(which.name()).has_value();
}

// Memory beyond the last argument is undefined.
const NullableDatum &Arguments::value(Argument which) const
{
    static constexpr NullableDatum null{Datum{0}, true};
    const auto position = which.position().has_value() ? which.position() : find(which.name());
    if (position.has_value() && *position < fcinfo_->nargs)
        return fcinfo_->args[*position];
    if (which.is_later())
        return null;
    raise_other_declaration(fcinfo_,
                            ("has no argument \"" + std::string(which.name()) + "\"").c_str());
}

const NullableDatum &Arguments::require(Argument which) const
{
    const NullableDatum &found = value(which);
    if (found.isnull)
        HIPQ_RAISE(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                   errmsg("argument \"%s\" must not be null", which.name()));
    return found;
}

std::optional<std::string> Arguments::maybe_text(Argument which, std::size_t most) const
{
    const NullableDatum &found = value(which);
    if (found.isnull)
        return std::nullopt;
    const Bytes bytes = pg::call([&] { return detoasted_bytes(found.value, most); });
    check_length(which, bytes.size, most);
    return std::string(bytes.data, bytes.size);
}

std::optional<std::int32_t> Arguments::maybe_int(Argument which) const
{
    const NullableDatum &found = value(which);
    return found.isnull ? std::nullopt : std::optional(DatumGetInt32(found.value));
}

std::optional<std::int64_t> Arguments::maybe_int64(Argument which) const
{
    const NullableDatum &found = value(which);
    return found.isnull ? std::nullopt : std::optional<std::int64_t>(DatumGetInt64(found.value));
}

std::optional<bool> Arguments::maybe_bool(Argument which) const
{
    const NullableDatum &found = value(which);
    return found.isnull ? std::nullopt : std::optional(DatumGetBool(found.value));
}

std::optional<Oid> Arguments::maybe_oid(Argument which) const
{
    const NullableDatum &found = value(which);
    return found.isnull ? std::nullopt : std::optional(DatumGetObjectId(found.value));
}

std::optional<pg::Time> Arguments::maybe_time(Argument which) const
{
    const NullableDatum &found = value(which);
    return found.isnull ? std::nullopt : std::optional(pg::Time{DatumGetTimestampTz(found.value)});
}

std::optional<double> Arguments::maybe_number(Argument which) const
{
    const NullableDatum &found = value(which);
    if (found.isnull)
        return std::nullopt;
    return pg::call([&] {
        return DatumGetFloat8(DirectFunctionCall1(::numeric_float8_no_overflow, found.value));
    });
}

std::optional<double> Arguments::maybe_double(Argument which) const
{
    const NullableDatum &found = value(which);
    return found.isnull ? std::nullopt : std::optional(DatumGetFloat8(found.value));
}

std::optional<std::int64_t> Arguments::maybe_duration(Argument which) const
{
    return maybe_int64(which);
}

std::optional<TimeOrDuration> Arguments::maybe_time_or_duration(Argument which) const
{
    const NullableDatum &found = value(which);
    if (found.isnull)
        return std::nullopt;
    return *reinterpret_cast<const TimeOrDuration *>(DatumGetPointer(found.value));
}

std::optional<std::int32_t> Arguments::maybe_seconds(Argument which, std::int32_t least) const
{
    const auto length = maybe_duration(which);
    if (!length.has_value())
        return std::nullopt;
    const std::int64_t whole = *length / USECS_PER_SEC;
    const std::int64_t seconds = *length % USECS_PER_SEC > 0 ? whole + 1 : whole;
    pg::demand(core::check_seconds(seconds, which.name(), least));
    return static_cast<std::int32_t>(seconds);
}

std::string Arguments::text(Argument which, std::size_t most) const
{
    (void)require(which);
    return *maybe_text(which, most);
}

std::int32_t Arguments::integer(Argument which) const
{
    return DatumGetInt32(require(which).value);
}

std::int64_t Arguments::integer64(Argument which) const
{
    return DatumGetInt64(require(which).value);
}

bool Arguments::boolean(Argument which) const
{
    return DatumGetBool(require(which).value);
}

Oid Arguments::oid(Argument which) const
{
    return DatumGetObjectId(require(which).value);
}

std::int64_t Arguments::duration(Argument which) const
{
    return integer64(which);
}

std::vector<std::optional<std::string>> Arguments::texts(Argument which, std::size_t most_elements,
                                                         std::size_t most) const
{
    std::vector<std::optional<std::string>> result;
    const NullableDatum &found = value(which);
    if (found.isnull)
        return result;
    const Elements elements = elements_of(found.value);
    check_count(which, elements.count, most_elements);
    // Elements of an array are never toasted individually, so nothing here can raise.
    for (int element = 0; element < elements.count; ++element) {
        if (elements.nulls[element]) {
            result.emplace_back(std::nullopt);
        } else {
            const Bytes bytes = bytes_of(reinterpret_cast<const struct varlena *>(
                DatumGetPointer(elements.values[element])));
            check_length(which, bytes.size, most);
            result.emplace_back(std::string(bytes.data, bytes.size));
        }
    }
    return result;
}

std::vector<std::string> Arguments::texts_without_nulls(Argument which, std::size_t most_elements,
                                                        std::size_t most) const
{
    std::vector<std::string> result;
    for (std::optional<std::string> &element : texts(which, most_elements, most)) {
        if (!element.has_value())
            raise_null_element(which.name());
        result.push_back(std::move(*element));
    }
    return result;
}

std::vector<std::optional<std::int64_t>> Arguments::durations(Argument which) const
{
    std::vector<std::optional<std::int64_t>> result;
    const NullableDatum &found = value(which);
    if (found.isnull)
        return result;
    const Elements elements = elements_of(found.value);
    check_count(which, elements.count, core::most_jobs_at_once);
    for (int element = 0; element < elements.count; ++element)
        result.push_back(elements.nulls[element] ? std::nullopt
                                                 : std::optional<std::int64_t>(
                                                       DatumGetInt64(elements.values[element])));
    return result;
}

std::vector<std::int64_t> Arguments::integers64(Argument which) const
{
    const Elements elements = elements_of(require(which).value);
    check_count(which, elements.count, core::most_jobs_at_once);
    return numbers_of<std::int64_t>(elements, which.name(),
                                    [](Datum value) { return std::int64_t{DatumGetInt64(value)}; });
}

std::vector<std::int32_t> Arguments::integers(Argument which) const
{
    const Elements elements = elements_of(require(which).value);
    check_count(which, elements.count, core::most_jobs_at_once);
    return numbers_of<std::int32_t>(elements, which.name(),
                                    [](Datum value) { return std::int32_t{DatumGetInt32(value)}; });
}

std::vector<pg::RawValue> Arguments::jsons(Argument which) const
{
    const Elements elements = elements_of(require(which).value);
    check_count(which, elements.count, core::most_jobs_at_once);
    std::vector<pg::RawValue> values;
    values.reserve(static_cast<std::size_t>(elements.count));
    for (int element = 0; element < elements.count; ++element)
        values.push_back({JSONBOID, elements.values[element], elements.nulls[element]});
    return values;
}

Datum return_ids(const std::vector<std::int64_t> &ids)
{
    return pg::call([&] { return pg::Parameter(ids).datum(); });
}

Datum return_text(std::string_view text)
{
    return pg::call([&] {
        return PointerGetDatum(
            ::cstring_to_text_with_len(text.data(), static_cast<int>(text.size())));
    });
}

Datum return_void()
{
    return Datum{0};
}

namespace {

// A row in PostgreSQL's form. Call inside pg::call() only.
struct RowDatums {
    Datum values[32];
    bool nulls[32];

    explicit RowDatums(std::span<const pg::Parameter> row)
    {
        for (std::size_t i = 0; i < row.size(); ++i) {
            nulls[i] = row[i].null();
            values[i] = nulls[i] ? Datum{0} : row[i].datum();
        }
    }
};

void require_columns(FunctionCallInfo fcinfo, std::span<const pg::Parameter> row,
                     const TupleDesc descriptor)
{
    if (descriptor == nullptr || row.size() > 32 ||
        static_cast<int>(row.size()) != descriptor->natts)
        raise_other_declaration(fcinfo, "has other results than the library knows");
}

}  // namespace

Datum return_one_row(FunctionCallInfo fcinfo, std::span<const pg::Parameter> row)
{
    const TupleDesc descriptor = pg::call([&] {
        TupleDesc found = nullptr;
        return ::get_call_result_type(fcinfo, nullptr, &found) == TYPEFUNC_COMPOSITE ? found
                                                                                     : nullptr;
    });
    require_columns(fcinfo, row, descriptor);
    return pg::call([&] {
        RowDatums datums(row);
        return HeapTupleGetDatum(
            ::heap_form_tuple(::BlessTupleDesc(descriptor), datums.values, datums.nulls));
    });
}

ResultSet::ResultSet(FunctionCallInfo fcinfo) : fcinfo_(fcinfo)
{
    pg::call([&] { ::InitMaterializedSRF(fcinfo, 0); });
    info_ = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
}

void ResultSet::add_composite(pg::RawValue row)
{
    pg::call([&] {
        HeapTupleHeader header = DatumGetHeapTupleHeader(row.value);
        HeapTupleData tuple{};
        tuple.t_len = HeapTupleHeaderGetDatumLength(header);
        tuple.t_data = header;
        ::tuplestore_puttuple(info_->setResult, &tuple);
    });
}

void ResultSet::add_row(std::span<const pg::Parameter> row)
{
    require_columns(fcinfo_, row, info_->setDesc);
    pg::call([&] {
        RowDatums datums(row);
        ::tuplestore_putvalues(info_->setResult, info_->setDesc, datums.values, datums.nulls);
    });
}

}  // namespace hipq::pg
