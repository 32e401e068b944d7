// Reads and forms rows of hipq.job by column.
#include "job/job_row.hpp"

#include "job/key_index.hpp"
#include "job/own_checks.hpp"
#include "pg/compat.hpp"
#include "pg/known_table.hpp"
#include "pg/version_mismatch.hpp"

extern "C" {
#include "catalog/pg_enum.h"
#include "utils/datum.h"
}

namespace hipq::job {

namespace {

using Maps = std::unordered_map<Oid, ColumnMap>;
using States = std::array<Oid, core::all_job_states.size()>;

constinit Maps *maps = nullptr;
constinit States states{};
constinit bool states_known = false;

extern "C" void hipq_relation_changed(Datum, Oid relation)
{
    forget_key_index(relation);
    pg::forget_known_table(relation);
    forget_checks(relation);
    if (maps == nullptr)
        return;
    if (OidIsValid(relation))
        maps->erase(relation);
    else
        maps->clear();
}

extern "C" void hipq_enum_changed(Datum, pg::CacheId, uint32)
{
    states_known = false;
}

// The enum type of the state belongs to hipq, so its OID is not a constant.
constexpr Oid state_type = InvalidOid;

Oid type_oid(core::ColumnType type)
{
    switch (type) {
    case core::ColumnType::int2:
        return INT2OID;
    case core::ColumnType::int4:
        return INT4OID;
    case core::ColumnType::int8:
        return INT8OID;
    case core::ColumnType::numeric:
        return NUMERICOID;
    case core::ColumnType::text:
        return TEXTOID;
    case core::ColumnType::timestamptz:
        return TIMESTAMPTZOID;
    case core::ColumnType::jsonb:
        return JSONBOID;
    case core::ColumnType::job_state:
        return state_type;
    }
    return state_type;
}

// Call inside pg::call() only.
Oid state_type_here()
{
    return GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("job_state"),
                           ObjectIdGetDatum(::get_namespace_oid("hipq", true)));
}

// A value of another type could be taken for a pointer.
void require_type(Oid relation, std::string_view column, Oid type, Oid expected)
{
    if (type == expected)
        return;
    const Oid own_type =
        expected == state_type ? pg::call([] { return state_type_here(); }) : expected;
    if (pg::call([&] { return ::getBaseType(type); }) != own_type)
        pg::raise_other_type(relation, std::string(column), type, own_type);
}

ColumnMap read_column_map(const TupleDesc descriptor, Oid relation)
{
    ColumnMap map{};
    std::array<Oid, core::column_count> types{};
    for (std::size_t i = 0; i < core::column_count; ++i) {
        const std::string_view name = core::job_columns[i].name;
        for (int attribute = 0; attribute < descriptor->natts; ++attribute) {
            const Form_pg_attribute form = TupleDescAttr(descriptor, attribute);
            if (form->attisdropped || name != NameStr(form->attname))
                continue;
            map[i] = form->attnum;
            types[i] = form->atttypid;
        }
    }
    // This accesses system catalogues, which may invalidate the descriptor.
    for (std::size_t i = 0; i < core::column_count; ++i) {
        const core::ColumnDefinition &column = core::job_columns[i];
        if (map[i] == 0 && core::is_new(static_cast<core::Column>(i)))
            continue;
        if (map[i] == 0)
            pg::raise_missing_column(relation, std::string(column.name));
        require_type(relation, column.name, types[i], type_oid(column.type));
    }
    return map;
}

// Otherwise zero would be written into rows.
void require_state(Oid state, const std::string &label)
{
    if (OidIsValid(state))
        return;
    pg::require_fit("type \"hipq.job_state\" has no value \"" + label + "\"");
    HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
               errmsg("type \"hipq.job_state\" has no value \"%s\"", label.c_str()),
               errhint("The types of hipq are its own. Rename the value back."));
}

States read_states()
{
    std::array<std::string, core::all_job_states.size()> labels;
    for (std::size_t i = 0; i < labels.size(); ++i)
        labels[i] = core::name(core::all_job_states[i]);
    States result{};
    pg::call([&] {
        const Oid type = state_type_here();
        for (std::size_t i = 0; i < result.size(); ++i)
            result[i] = GetSysCacheOid2(ENUMTYPOIDNAME, Anum_pg_enum_oid, ObjectIdGetDatum(type),
                                        CStringGetDatum(labels[i].c_str()));
    });
    for (std::size_t i = 0; i < result.size(); ++i)
        require_state(result[i], labels[i]);
    return result;
}

const States &known_states()
{
    if (!states_known) {
        states = read_states();
        states_known = true;
    }
    return states;
}

// Picks the job's columns out of those of a whole row. Plain data: may be called inside and outside
// pg::call().
RowValues pick(const ColumnMap &map, const Datum *values, const bool *nulls)
{
    RowValues picked{};
    for (std::size_t i = 0; i < core::column_count; ++i) {
        picked.values[i] = map[i] == 0 ? Datum{0} : values[map[i] - 1];
        picked.nulls[i] = map[i] == 0 || nulls[map[i] - 1];
    }
    return picked;
}

// The reverse of pick(); other columns of the row are left alone.
void put_back(const RowValues &picked, const ColumnMap &map, Datum *values, bool *nulls)
{
    for (std::size_t i = 0; i < core::column_count; ++i) {
        if (map[i] == 0)
            continue;
        values[map[i] - 1] = picked.values[i];
        nulls[map[i] - 1] = picked.nulls[i];
    }
}

}  // namespace

ColumnMap column_map(Relation relation)
{
    if (maps == nullptr)
        maps = new Maps();
    const Oid oid = RelationGetRelid(relation);
    if (const auto found = maps->find(oid); found != maps->end())
        return found->second;
    return maps->insert_or_assign(oid, read_column_map(RelationGetDescr(relation), oid))
        .first->second;
}

JobRow::JobRow(Relation relation, HeapTuple tuple)
    : RowValues{}, map_(column_map(relation)), descriptor_(RelationGetDescr(relation)),
      tuple_(tuple)
{
    static_cast<RowValues &>(*this) = pg::call([&] {
        Datum datums[MaxHeapAttributeNumber];
        bool are_null[MaxHeapAttributeNumber];
        ::heap_deform_tuple(tuple_, descriptor_, datums, are_null);
        return pick(map_, datums, are_null);
    });
}

HeapTuple JobRow::form() const
{
    return pg::call([&] {
        Datum datums[MaxHeapAttributeNumber];
        bool are_null[MaxHeapAttributeNumber];
        if (descriptor_->natts > static_cast<int>(core::column_count))
            ::heap_deform_tuple(tuple_, descriptor_, datums, are_null);
        put_back(*this, map_, datums, are_null);
        HeapTuple formed = ::heap_form_tuple(descriptor_, datums, are_null);
        formed->t_self = tuple_->t_self;
        formed->t_tableOid = tuple_->t_tableOid;
        return formed;
    });
}

bool is_unreadable(TupleTableSlot *slot, const ColumnMap &map)
{
    bool is_copied = false;
    HeapTuple tuple = ::ExecFetchSlotHeapTuple(slot, false, &is_copied);
    bool result = false;
    for (std::size_t i = 0; i < core::column_count && !result; ++i)
        result = core::is_required(static_cast<core::Column>(i)) && map[i] > 0 &&
                 ::heap_attisnull(tuple, map[i], slot->tts_tupleDescriptor);
    if (is_copied)
        ::heap_freetuple(tuple);
    return result;
}

bool is_held(TupleTableSlot *slot, const ColumnMap &map)
{
    const AttrNumber waits_for = map[static_cast<std::size_t>(core::Column::waits_for)];
    return waits_for != InvalidAttrNumber && !::slot_attisnull(slot, waits_for);
}

core::JobState RowValues::state() const
{
    return null(core::Column::state) ? core::JobState::initial
                                     : state_of(value(core::Column::state));
}

Datum state_datum(core::JobState state)
{
    return ObjectIdGetDatum(known_states()[static_cast<std::size_t>(state)]);
}

core::JobState state_of(Datum value)
{
    const States &known = known_states();
    for (const core::JobState state : core::all_job_states)
        if (known[static_cast<std::size_t>(state)] == DatumGetObjectId(value))
            return state;
    HIPQ_RAISE(errcode(ERRCODE_DATA_CORRUPTED),
               errmsg("unknown job state %u", DatumGetObjectId(value)));
}

core::ColumnSet differing_columns(Relation relation, const RowValues &before,
                                  const RowValues &after)
{
    core::ColumnSet result;
    const ColumnMap map = column_map(relation);
    const TupleDesc descriptor = RelationGetDescr(relation);
    pg::call([&] {
        for (std::size_t i = 0; i < core::column_count; ++i) {
            const auto column = static_cast<core::Column>(i);
            if (map[i] == 0)
                continue;
            const Form_pg_attribute form = TupleDescAttr(descriptor, map[i] - 1);
            const bool same =
                before.null(column) == after.null(column) &&
                (before.null(column) || ::datum_image_eq(before.value(column), after.value(column),
                                                         form->attbyval, form->attlen));
            result.set(i, !same);
        }
    });
    return result;
}

namespace {

// The attribute numbers of the columns in the row type of hipq.job, cached until the identifier of
// the type's definition changes.
const ColumnMap &row_type_map(Oid type)
{
    static constinit ColumnMap known{};
    static constinit std::uint64_t known_definition = 0;
    const TypeCacheEntry *entry =
        pg::call([&] { return ::lookup_type_cache(type, TYPECACHE_TUPDESC); });
    if (entry->tupDesc_identifier != known_definition) {
        known = read_column_map(entry->tupDesc, entry->typrelid);
        known_definition = entry->tupDesc_identifier;
    }
    return known;
}

}  // namespace

RowValues row_values(pg::RawValue row)
{
    const ColumnMap map = row_type_map(row.type);
    return pg::call([&] {
        const TupleDesc descriptor = ::lookup_rowtype_tupdesc(row.type, -1);
        HeapTupleHeader header = DatumGetHeapTupleHeader(row.value);
        HeapTupleData tuple{};
        tuple.t_len = HeapTupleHeaderGetDatumLength(header);
        ItemPointerSetInvalid(&tuple.t_self);
        tuple.t_data = header;
        auto *values =
            static_cast<Datum *>(::palloc(static_cast<Size>(descriptor->natts) * sizeof(Datum)));
        auto *nulls =
            static_cast<bool *>(::palloc(static_cast<Size>(descriptor->natts) * sizeof(bool)));
        ::heap_deform_tuple(&tuple, descriptor, values, nulls);
        ReleaseTupleDesc(descriptor);
        return pick(map, values, nulls);
    });
}

pg::RawValue row_of(const RowValues &values, Oid row_type)
{
    const ColumnMap map = row_type_map(row_type);
    return pg::call([&] {
        const TupleDesc descriptor = ::lookup_rowtype_tupdesc(row_type, -1);
        auto *datums =
            static_cast<Datum *>(::palloc0(static_cast<Size>(descriptor->natts) * sizeof(Datum)));
        auto *nulls =
            static_cast<bool *>(::palloc(static_cast<Size>(descriptor->natts) * sizeof(bool)));
        std::fill_n(nulls, descriptor->natts, true);  // dropped columns
        put_back(values, map, datums, nulls);
        const Datum formed = HeapTupleGetDatum(::heap_form_tuple(descriptor, datums, nulls));
        ReleaseTupleDesc(descriptor);
        return pg::RawValue{row_type, formed, false};
    });
}

const RowValues *kept(const RowValues &values)
{
    auto *copy = pg::call([] { return static_cast<RowValues *>(::palloc(sizeof(RowValues))); });
    *copy = values;
    return copy;
}

void fill_slot(TupleTableSlot *slot, const ColumnMap &map, const RowValues &values)
{
    ::ExecClearTuple(slot);
    std::fill_n(slot->tts_isnull, slot->tts_tupleDescriptor->natts, true);  // dropped columns
    put_back(values, map, slot->tts_values, slot->tts_isnull);
    ::ExecStoreVirtualTuple(slot);
}

void make_running(RowValues &values, int attempt, pg::Time started, pg::Time deadline)
{
    values.set(core::Column::state, state_datum(core::JobState::running));
    values.set(core::Column::attempt, Int32GetDatum(attempt));
    values.set(core::Column::error, none_datum());
    values.set(core::Column::update_time, TimestampTzGetDatum(started.value));
    values.set(core::Column::accepted_time, TimestampTzGetDatum(started.value));
    values.set(core::Column::deadline, TimestampTzGetDatum(deadline.value));
    values.set_null(core::Column::worker_id);
}

void make_failed(RowValues &values, std::string_view error, std::string_view reason,
                 std::optional<std::int64_t> retry_after, pg::Time now)
{
    const std::int64_t due = values.as_int64(core::Column::scheduled_run_time);
    const std::int64_t until =
        retry_after.has_value() ? now.value + *retry_after : std::min(due, now.value);
    pg::call([&] {
        values.set(core::Column::error, text_datum(error));
        values.set(core::Column::retry_reason, text_datum(reason));
    });
    values.set(core::Column::state, state_datum(core::JobState::error));
    values.set(core::Column::update_time, TimestampTzGetDatum(now.value));
    values.set(core::Column::deadline, TimestampTzGetDatum(pg::far_time.value));
    values.set(core::Column::scheduled_run_time, TimestampTzGetDatum(until));
}

bool is_due(const RowValues &values, pg::Time now)
{
    return core::is_waiting(values.state()) && values.null(core::Column::waits_for) &&
           values.as_int64(core::Column::scheduled_run_time) <= now.value &&
           values.as_int64(core::Column::expires_time) > now.value;
}

std::string_view text_view(Datum value)
{
    const auto *content = reinterpret_cast<const struct varlena *>(DatumGetPointer(value));
    if (content == nullptr)
        HIPQ_RAISE(errcode(ERRCODE_DATA_CORRUPTED), errmsg("a job has NULL where each has a text"));
    if (VARATT_IS_EXTERNAL(content) || VARATT_IS_COMPRESSED(content))
        content = pg::call([&] { return DatumGetTextPP(value); });
    return {VARDATA_ANY(content), static_cast<std::size_t>(VARSIZE_ANY_EXHDR(content))};
}

std::string text_of(Datum value)
{
    return std::string(text_view(value));
}

bool is_text(Datum value, std::string_view expected)
{
    const auto *content = DatumGetTextPP(value);
    const std::size_t size = VARSIZE_ANY_EXHDR(content);
    return size == expected.size() && std::memcmp(VARDATA_ANY(content), expected.data(), size) == 0;
}

Datum text_datum(std::string_view text)
{
    return PointerGetDatum(::cstring_to_text_with_len(text.data(), static_cast<int>(text.size())));
}

Datum none_datum()
{
    alignas(std::int32_t) static constinit std::array<char, VARHDRSZ + 4> none{0,   0,   0,   0,
                                                                               'N', 'O', 'N', 'E'};
    SET_VARSIZE(none.data(), none.size());
    return PointerGetDatum(none.data());
}

Datum json_null_datum()
{
    static constinit Datum null_value{};
    if (null_value == Datum{})
        null_value = pg::call([] {
            MemoryContext before = ::MemoryContextSwitchTo(TopMemoryContext);
            const Datum made = DirectFunctionCall1(::jsonb_in, CStringGetDatum("null"));
            ::MemoryContextSwitchTo(before);
            return made;
        });
    return null_value;
}

void watch_job_relations()
{
    ::CacheRegisterRelcacheCallback(hipq_relation_changed, Datum{0});
    ::CacheRegisterSyscacheCallback(ENUMOID, hipq_enum_changed, Datum{0});
    ::CacheRegisterSyscacheCallback(TYPEOID, hipq_enum_changed, Datum{0});
}

}  // namespace hipq::job
