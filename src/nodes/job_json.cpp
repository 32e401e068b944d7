// Converts a job to a JSON object, and back.
//
// Times are in ISO 8601 format, which depends on neither DateStyle nor the time zone of the
// session.
#include "nodes/job_json.hpp"
#include "job/job_row.hpp"
#include "pg/compat.hpp"

#include <array>
#include <cstring>

extern "C" {
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
}

namespace hipq::nodes {

namespace {

using core::Column;
using core::ColumnType;

JsonbValue text_value(std::string_view text)
{
    JsonbValue value{};
    value.type = jbvString;
    value.val.string.val = const_cast<char *>(text.data());
    value.val.string.len = static_cast<int>(text.size());
    return value;
}

// ---- call inside pg::call() only ----

JsonbValue number_value(Datum numeric)
{
    JsonbValue value{};
    value.type = jbvNumeric;
    value.val.numeric = DatumGetNumeric(numeric);
    return value;
}

JsonbValue integer_value(std::int64_t number)
{
    return number_value(NumericGetDatum(::int64_to_numeric(number)));
}

JsonbValue time_value(Datum time)
{
    auto *buffer = static_cast<char *>(::palloc(MAXDATELEN + 1));
    return text_value(::JsonEncodeDateTime(buffer, time, TIMESTAMPTZOID, nullptr));
}

JsonbValue text_value_of(Datum text)
{
    const struct varlena *content =
        ::pg_detoast_datum_packed(reinterpret_cast<struct varlena *>(DatumGetPointer(text)));
    return text_value({VARDATA_ANY(content), static_cast<std::size_t>(VARSIZE_ANY_EXHDR(content))});
}

void push_json(pg::JsonbBuilder &built, Datum json)
{
    Jsonb *content = DatumGetJsonbP(json);
    JsonbValue value{};
    if (JB_ROOT_IS_SCALAR(content))
        (void)::JsonbExtractScalar(&content->root, &value);
    else
        ::JsonbToJsonbValue(content, &value);
    pg::push_jsonb(built, WJB_VALUE, &value);
}

void push(pg::JsonbBuilder &built, ColumnType type, Datum datum, const char *state_name)
{
    JsonbValue value{};
    switch (type) {
    case ColumnType::int2:
        value = integer_value(DatumGetInt16(datum));
        break;
    case ColumnType::int4:
        value = integer_value(DatumGetInt32(datum));
        break;
    case ColumnType::int8:
        value = integer_value(DatumGetInt64(datum));
        break;
    case ColumnType::numeric:
        value = number_value(PointerGetDatum(
            ::pg_detoast_datum(reinterpret_cast<struct varlena *>(DatumGetPointer(datum)))));
        break;
    case ColumnType::text:
        value = text_value_of(datum);
        break;
    case ColumnType::timestamptz:
        value = time_value(datum);
        break;
    case ColumnType::job_state:
        value = text_value(state_name);
        break;
    case ColumnType::jsonb:
        push_json(built, datum);
        return;
    }
    pg::push_jsonb(built, WJB_VALUE, &value);
}

void push_null(pg::JsonbBuilder &built)
{
    JsonbValue value{};
    value.type = jbvNull;
    pg::push_jsonb(built, WJB_VALUE, &value);
}

char *c_string(const JsonbValue &value)
{
    return ::pnstrdup(value.val.string.val, value.val.string.len);
}

Datum number_of(const JsonbValue &value, PGFunction convert)
{
    if (value.type != jbvNumeric)
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("a number of a job that has arrived is none"));
    return DirectFunctionCall1(convert, NumericGetDatum(value.val.numeric));
}

// SQL also reads ids as text, so the text must be that of a whole number.
Datum id_of(const JsonbValue &value)
{
    const Datum number = number_of(value, ::numeric_int8);
    if (!DatumGetBool(
            DirectFunctionCall2(::numeric_eq, NumericGetDatum(value.val.numeric),
                                NumericGetDatum(::int64_to_numeric(DatumGetInt64(number))))))
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("an id of a job that has arrived is no whole number"));
    return number;
}

void refuse_text()
{
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("a text of a job that has arrived is none"));
}

Datum text_of(const JsonbValue &value)
{
    if (value.type != jbvString)
        refuse_text();
    return PointerGetDatum(::cstring_to_text_with_len(value.val.string.val, value.val.string.len));
}

// Jobs that were enqueued together have the same times, so the last one is cached.
Datum time_of(const JsonbValue &value)
{
    static std::array<char, MAXDATELEN + 1> last_text{};
    static Datum last_time{};
    if (value.type != jbvString)
        refuse_text();
    char *text = c_string(value);
    if (std::strcmp(text, last_text.data()) == 0)
        return last_time;
    const Datum time = DirectFunctionCall3(::timestamptz_in, CStringGetDatum(text),
                                           ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
    ::strlcpy(last_text.data(), std::strlen(text) <= MAXDATELEN ? text : "", last_text.size());
    last_time = time;
    return time;
}

// The caller converts the state, whose type belongs to hipq.
Datum datum_of(ColumnType type, JsonbValue &value)
{
    switch (type) {
    case ColumnType::int2:
        return number_of(value, ::numeric_int2);
    case ColumnType::int4:
        return number_of(value, ::numeric_int4);
    case ColumnType::int8:
        return id_of(value);
    case ColumnType::numeric:
        return number_of(value, ::numeric_uplus);
    case ColumnType::timestamptz:
        return time_of(value);
    case ColumnType::jsonb:
        return JsonbPGetDatum(::JsonbValueToJsonb(&value));
    case ColumnType::text:
    case ColumnType::job_state:
        break;
    }
    return text_of(value);
}

Datum state_of(Datum text)
{
    const auto state = core::parse_job_state(job::text_view(text));
    if (!state.has_value())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("a job that has arrived is in no state that there is"));
    return job::state_datum(*state);
}

// Jobs that are enqueued together mostly have the same values, except in these columns.
bool may_be_shared(Column column)
{
    return column != Column::id && column != Column::job_key && column != Column::shard_key &&
           core::definition(column).type != ColumnType::jsonb;
}

bool is_by_value(ColumnType type)
{
    return type != ColumnType::numeric && type != ColumnType::text && type != ColumnType::jsonb;
}

// Equal values that are stored differently, such as one of them compressed, count as different:
// both are written.
bool has_same_bytes(Datum a, Datum b)
{
    const std::size_t size = VARSIZE_ANY(DatumGetPointer(a));
    return a == b || (size == VARSIZE_ANY(DatumGetPointer(b)) &&
                      std::memcmp(DatumGetPointer(a), DatumGetPointer(b), size) == 0);
}

bool is_same(const job::RowValues &a, const job::RowValues &b, Column column)
{
    if (a.null(column) || b.null(column))
        return a.null(column) == b.null(column);
    return is_by_value(core::definition(column).type)
               ? a.value(column) == b.value(column)
               : has_same_bytes(a.value(column), b.value(column));
}

// Builds an object of the columns for which `is_written` is true, with NULL as JSON null.
template <class Choice>
pg::RawValue object_of(const job::RowValues &job, const Choice &is_written)
{
    const std::string state_name =
        job.null(Column::state) ? "" : std::string(core::name(job.state()));
    return pg::call([&] {
        pg::JsonbBuilder built{};
        pg::push_jsonb(built, WJB_BEGIN_OBJECT);
        for (std::size_t i = 0; i < core::column_count; ++i) {
            const auto column = static_cast<Column>(i);
            if (column == Column::queue_id || !is_written(column))
                continue;
            JsonbValue key = text_value(core::name(column));
            pg::push_jsonb(built, WJB_KEY, &key);
            if (job.null(column))
                push_null(built);
            else
                push(built, core::definition(column).type, job.value(column), state_name.c_str());
        }
        pg::push_jsonb(built, WJB_END_OBJECT);
        return pg::RawValue{JSONBOID, JsonbPGetDatum(::JsonbValueToJsonb(built.result)), false};
    });
}

// Sets a column; the state is set as text. Call inside pg::call() only.
void put(job::RowValues &job, Column column, JsonbValue &value)
{
    const ColumnType type = core::definition(column).type;
    if (value.type == jbvNull && type != ColumnType::jsonb)
        job.set_null(column);
    else
        job.set(column, datum_of(type, value));
}

// Sets all columns of the object. Returns whether the state is among them. Call inside pg::call()
// only.
bool put_all(job::RowValues &job, Jsonb *object)
{
    bool has_state = false;
    JsonbValue value{};
    JsonbIterator *rest = ::JsonbIteratorInit(&object->root);
    (void)::JsonbIteratorNext(&rest, &value, true);
    while (::JsonbIteratorNext(&rest, &value, true) == WJB_KEY) {
        const auto column = core::find_column(
            {value.val.string.val, static_cast<std::size_t>(value.val.string.len)});
        (void)::JsonbIteratorNext(&rest, &value, true);
        if (!column.has_value())
            continue;
        put(job, *column, value);
        has_state = has_state || column == Column::state;
    }
    return has_state && !job.null(Column::state);
}

}  // namespace

pg::RawValue json_of(const job::RowValues &job)
{
    return object_of(job, [&](Column column) { return !job.null(column); });
}

pg::RawValue shared_json_of(const job::RowValues &first)
{
    return object_of(first,
                     [&](Column column) { return may_be_shared(column) && !first.null(column); });
}

pg::RawValue json_of(const job::RowValues &job, const job::RowValues &first)
{
    return object_of(job, [&](Column column) {
        return may_be_shared(column) ? !is_same(job, first, column) : !job.null(column);
    });
}

job::RowValues values_of(pg::RawValue json)
{
    job::RowValues none{};
    none.nulls.fill(true);
    return values_of(json, none);
}

job::RowValues values_of(pg::RawValue json, const job::RowValues &shared)
{
    job::RowValues job = shared;
    bool has_state = false;
    const bool is_object = pg::call([&] {
        Jsonb *object = DatumGetJsonbP(json.value);
        if (!JB_ROOT_IS_OBJECT(object))
            return false;
        has_state = put_all(job, object);
        return true;
    });
    if (!is_object)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("a job that has arrived is no JSON object"));
    if (has_state)
        job.set(Column::state, state_of(job.value(Column::state)));
    return job;
}

job::RowValues copy_of(const job::RowValues &job)
{
    return pg::call([&] {
        job::RowValues copy = job;
        for (std::size_t i = 0; i < core::column_count; ++i)
            if (!copy.nulls[i] && !is_by_value(core::job_columns[i].type))
                copy.values[i] = ::datumCopy(copy.values[i], false, -1);
        return copy;
    });
}

}  // namespace hipq::nodes
