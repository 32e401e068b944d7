// Runs statements over SPI: one guarded block per statement.
#include "pg/spi.hpp"

#include "pg/version_mismatch.hpp"

namespace hipq::pg {

namespace {

constexpr int max_parameters = 48;

Datum text_array(const std::vector<std::string> &texts)
{
    auto *elements = static_cast<Datum *>(::palloc(sizeof(Datum) * (texts.size() + 1)));
    for (std::size_t i = 0; i < texts.size(); ++i)
        elements[i] = PointerGetDatum(
            ::cstring_to_text_with_len(texts[i].data(), static_cast<int>(texts[i].size())));
    return PointerGetDatum(::construct_array(elements, static_cast<int>(texts.size()), TEXTOID, -1,
                                             false, TYPALIGN_INT));
}

Datum integer_array(const std::vector<std::int64_t> &integers)
{
    auto *elements = static_cast<Datum *>(::palloc(sizeof(Datum) * (integers.size() + 1)));
    for (std::size_t i = 0; i < integers.size(); ++i)
        elements[i] = Int64GetDatum(integers[i]);
    return PointerGetDatum(::construct_array(elements, static_cast<int>(integers.size()), INT8OID,
                                             sizeof(std::int64_t), true, TYPALIGN_DOUBLE));
}

// A statement that writes takes a snapshot of its own; others read with the latest snapshot, or
// with the active one.
enum class Reads { own, latest, active };

// Input and output of the guarded block: plain data.
struct Execution {
    const char *sql;
    SPIPlanPtr *kept_plan;  // null: run once
    std::span<const Parameter> parameters;
    Reads reads;
    bool with_callers_path;
    TriggerData *trigger = nullptr;  // the statement may read its transition tables
    Cell *cells = nullptr;
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::uint64_t processed = 0;
};

void check(int code, const char *step, const char *sql)
{
    if (code < 0)
        elog(ERROR, "%s failed: %s, statement: %s", step, ::SPI_result_code_string(code), sql);
}

// With this search_path no name or operator in a statement of hipq's own can refer to an object
// that another user created. Test builds check it.
void require_pinned_path([[maybe_unused]] const Execution &execution)
{
#ifdef USE_ASSERT_CHECKING
    if (!execution.with_callers_path &&
        std::strcmp(namespace_search_path, "pg_catalog, pg_temp") != 0)
        elog(ERROR, "search_path is %s, statement: %s", namespace_search_path, execution.sql);
#endif
}

SPIPlanPtr prepare(Execution &execution)
{
    Oid types[max_parameters];
    if (execution.parameters.size() > max_parameters)
        elog(ERROR, "too many parameters, statement: %s", execution.sql);
    for (std::size_t i = 0; i < execution.parameters.size(); ++i)
        types[i] = execution.parameters[i].type();
    SPIPlanPtr plan =
        ::SPI_prepare(execution.sql, static_cast<int>(execution.parameters.size()), types);
    if (plan == nullptr)
        check(SPI_result, "SPI_prepare", execution.sql);
    if (execution.kept_plan != nullptr) {
        check(::SPI_keepplan(plan), "SPI_keepplan", execution.sql);
        *execution.kept_plan = plan;
    }
    return plan;
}

// Whether the plan has the types of the parameters. It may not: DROP EXTENSION drops hipq's types,
// and those of the next installation have other OIDs.
bool takes(SPIPlanPtr plan, std::span<const Parameter> parameters)
{
    for (std::size_t i = 0; i < parameters.size(); ++i)
        if (::SPI_getargtypeid(plan, static_cast<int>(i)) != parameters[i].type())
            return false;
    return true;
}

void free_kept_plan(SPIPlanPtr &kept)
{
    SPIPlanPtr plan = std::exchange(kept, nullptr);
    check(::SPI_freeplan(plan), "SPI_freeplan", "");
}

SPIPlanPtr plan_for(Execution &execution)
{
    if (execution.kept_plan == nullptr || *execution.kept_plan == nullptr)
        return prepare(execution);
    if (takes(*execution.kept_plan, execution.parameters))
        return *execution.kept_plan;
    free_kept_plan(*execution.kept_plan);
    return prepare(execution);
}

// Copies one value into the caller's memory context.
Cell copy_cell(HeapTuple tuple, TupleDesc descriptor, int column, MemoryContext caller)
{
    Cell cell{};
    cell.type = ::SPI_gettypeid(descriptor, column);
    Datum value = ::SPI_getbinval(tuple, descriptor, column, &cell.null);
    if (cell.null)
        return cell;
    Form_pg_attribute attribute = TupleDescAttr(descriptor, column - 1);
    const bool is_row = ::type_is_rowtype(cell.type);
    MemoryContext spi = ::MemoryContextSwitchTo(caller);
    if (cell.type == FLOAT8OID) {
        cell.number = DatumGetFloat8(value);
    } else if (cell.type == BOOLOID || cell.type == INT2OID || cell.type == INT4OID ||
               cell.type == INT8OID || cell.type == OIDOID || cell.type == TIMESTAMPTZOID ||
               cell.type == REGROLEOID || cell.type == REGCLASSOID) {
        switch (attribute->attlen) {
        case 1:
            cell.integer = DatumGetBool(value) ? 1 : 0;
            break;
        case 2:
            cell.integer = DatumGetInt16(value);
            break;
        case 4:
            cell.integer = cell.type == INT4OID
                               ? static_cast<std::int64_t>(DatumGetInt32(value))
                               : static_cast<std::int64_t>(DatumGetObjectId(value));
            break;
        default:
            cell.integer = DatumGetInt64(value);
        }
    } else if (cell.type == TIDOID) {
        cell.place = *reinterpret_cast<ItemPointer>(DatumGetPointer(value));
    } else if (cell.type == JSONBOID || cell.type == JSONBARRAYOID || is_row) {
        cell.datum = PointerGetDatum(PG_DETOAST_DATUM_COPY(value));
    } else if (cell.type == TEXTOID) {
        cell.text = TextDatumGetCString(value);
    } else {
        Oid output = InvalidOid;
        bool is_varlena = false;
        ::getTypeOutputInfo(cell.type, &output, &is_varlena);
        cell.text = ::OidOutputFunctionCall(output, value);
    }
    ::MemoryContextSwitchTo(spi);
    return cell;
}

void copy_result(Execution &execution, MemoryContext caller)
{
    execution.processed = SPI_processed;
    if (SPI_tuptable == nullptr)
        return;
    execution.rows = SPI_tuptable->numvals;
    execution.columns = static_cast<std::size_t>(SPI_tuptable->tupdesc->natts);
    execution.cells = static_cast<Cell *>(
        ::MemoryContextAllocHuge(caller, sizeof(Cell) * (execution.rows * execution.columns + 1)));
    for (std::size_t row = 0; row < execution.rows; ++row)
        for (std::size_t column = 0; column < execution.columns; ++column)
            execution.cells[row * execution.columns + column] =
                copy_cell(SPI_tuptable->vals[row], SPI_tuptable->tupdesc,
                          static_cast<int>(column) + 1, caller);
}

// Connects, prepares, runs, copies the result, disconnects. Call inside pg::call() only.
void run_execution(Execution &execution)
{
    require_pinned_path(execution);
    MemoryContext caller = CurrentMemoryContext;
    // A background worker has no portal that would hold a snapshot.
    const bool reads_latest = execution.reads == Reads::latest;
    const bool brings_snapshot = reads_latest || !::ActiveSnapshotSet();
    if (brings_snapshot)
        ::PushActiveSnapshot(reads_latest ? ::GetLatestSnapshot() : ::GetTransactionSnapshot());
    check(::SPI_connect(), "SPI_connect", execution.sql);
    if (execution.trigger != nullptr)
        check(::SPI_register_trigger_data(execution.trigger), "SPI_register_trigger_data",
              execution.sql);
    SPIPlanPtr plan = plan_for(execution);
    Datum values[max_parameters];
    char nulls[max_parameters];
    for (std::size_t i = 0; i < execution.parameters.size(); ++i) {
        nulls[i] = execution.parameters[i].null() ? 'n' : ' ';
        values[i] = execution.parameters[i].null() ? Datum{0} : execution.parameters[i].datum();
    }
    // A read-only statement uses the active snapshot.
    const bool needs_snapshot =
        !::ActiveSnapshotSet();  // a worker's transaction has none of its own
    if (needs_snapshot)
        ::PushActiveSnapshot(::GetTransactionSnapshot());
    check(::SPI_execute_plan(plan, values, nulls, execution.reads != Reads::own, 0),
          "SPI_execute_plan", execution.sql);
    copy_result(execution, caller);
    if (needs_snapshot)
        ::PopActiveSnapshot();
    check(::SPI_finish(), "SPI_finish", execution.sql);
    if (brings_snapshot)
        ::PopActiveSnapshot();
}

// Runs the statement. If it cannot be parsed in this database, the error is reworded, because the
// statement is hipq's own.
Rows rows_of(Execution &execution)
{
    std::optional<Error> mismatch;
    try {
        call([&] { run_execution(execution); });
    } catch (const Error &error) {
        if (execution.with_callers_path || !is_version_mismatch(error, execution.sql))
            throw;
        mismatch = error;
    }
    if (mismatch.has_value()) {
        explain_version_mismatch(*mismatch, execution.sql);
        throw *mismatch;
    }
    return {execution.cells, execution.rows, execution.columns, execution.processed};
}

}  // namespace

Datum Parameter::datum() const
{
    if (raw_)
        return static_cast<Datum>(integer_);
    switch (type_) {
    case BOOLOID:
        return BoolGetDatum(integer_ != 0);
    case INT2OID:
        return Int16GetDatum(static_cast<std::int16_t>(integer_));
    case INT4OID:
        return Int32GetDatum(static_cast<std::int32_t>(integer_));
    case OIDOID:
        return ObjectIdGetDatum(static_cast<Oid>(integer_));
    case FLOAT8OID:
        return Float8GetDatum(number_);
    case TEXTOID:
        return PointerGetDatum(
            ::cstring_to_text_with_len(text_.data(), static_cast<int>(text_.size())));
    case TEXTARRAYOID:
        return text_array(*texts_);
    case INT8ARRAYOID:
        return integer_array(*integers_);
    default:
        return Int64GetDatum(integer_);
    }
}

namespace {

// Counts executions in progress, however they end.
class UnderWay {
public:
    explicit UnderWay(int &executions) : executions_(executions) { ++executions_; }
    ~UnderWay() { --executions_; }
    UnderWay(const UnderWay &) = delete;
    UnderWay &operator=(const UnderWay &) = delete;

private:
    int &executions_;
};

}  // namespace

void Statement::forget_plan()
{
    if (plan_ != nullptr)
        call([&] { free_kept_plan(plan_); });
}

void Row::raise_no_text(Oid type)
{
    const std::string name = call([&] { return ::format_type_be(type); });
    require_fit("a column is of type " + name + ", not text");
    HIPQ_RAISE(
        errcode(ERRCODE_DATATYPE_MISMATCH),
        errmsg("a column that hipq reads as text is of type %s", name.c_str()),
        errhint(
            "The tables of hipq are its own. Somebody has given one of its columns another type."));
}

Rows Statement::execute(std::span<const Parameter> parameters)
{
    const UnderWay under_way(executions_);
    Execution execution{sql_, &plan_, parameters, Reads::own, false};
    return rows_of(execution);
}

Rows Statement::execute_latest(std::span<const Parameter> parameters)
{
    const UnderWay under_way(executions_);
    Execution execution{sql_, &plan_, parameters, Reads::latest, false};
    return rows_of(execution);
}

Rows Statement::execute_in_snapshot(std::span<const Parameter> parameters)
{
    const UnderWay under_way(executions_);
    Execution execution{sql_, &plan_, parameters, Reads::active, false};
    return rows_of(execution);
}

Rows execute_once(const std::string &sql, std::span<const Parameter> parameters,
                  bool with_callers_path)
{
    Execution execution{sql.c_str(), nullptr, parameters, Reads::own, with_callers_path};
    return rows_of(execution);
}

Rows execute_in_trigger(TriggerData *trigger, const std::string &sql,
                        std::span<const Parameter> parameters)
{
    Execution execution{sql.c_str(), nullptr, parameters, Reads::own, false, trigger};
    return rows_of(execution);
}

}  // namespace hipq::pg
