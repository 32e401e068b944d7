// Caches the values of a new job for which its enqueuer gives none.
//
// There is one row of constants for each type, kept as long as any code holds the catalogue from
// which it was made.
#include "enqueue/start_values.hpp"

#include "core/job/validate.hpp"

extern "C" {
#include "utils/numeric.h"
}

namespace hipq::enqueue {

namespace {

using core::Column;

struct Values {
    KnownCatalogue catalogue;
    MemoryContext memory;  // of the values
    // By type, or by queue for unregistered types; both belong to the catalogue.
    std::unordered_map<const void *, job::RowValues> rows;
};

// The values of the present catalogue, which are last, and of older ones that are still used to
// make jobs: a trigger that runs between making a row and writing it may change the catalogue. On
// the heap: no destructor at exit.
constinit std::vector<Values> *kept = nullptr;

void forget_those_nobody_holds()
{
    std::erase_if(*kept, [](const Values &values) {
        const bool is_held = values.catalogue.use_count() > 1;
        if (!is_held)
            pg::call([&] { ::MemoryContextDelete(values.memory); });
        return !is_held;
    });
}

Values &values_of(const KnownCatalogue &catalogue)
{
    if (kept == nullptr)
        kept = new std::vector<Values>();
    const auto found = std::find_if(kept->rbegin(), kept->rend(), [&](const Values &values) {
        return values.catalogue == catalogue;
    });
    if (found != kept->rend())
        return *found;
    forget_those_nobody_holds();
    MemoryContext memory = pg::call([] {
        return AllocSetContextCreate(TopMemoryContext, "hipq start values", ALLOCSET_SMALL_SIZES);
    });
    return kept->emplace_back(Values{catalogue, memory, {}});
}

// ---- call inside pg::call() only ----

Datum json_datum(const char *json)
{
    return DirectFunctionCall1(::jsonb_in, CStringGetDatum(json));
}

Datum numeric_datum(const char *number)
{
    return DirectFunctionCall3(::numeric_in, CStringGetDatum(number), ObjectIdGetDatum(InvalidOid),
                               Int32GetDatum(-1));
}

void set_what_type_decides(job::RowValues &row, const catalog::JobType &type,
                           const catalog::Queue &queue)
{
    row.set(Column::timeout,
            Int32GetDatum(std::min<std::int64_t>(type.default_timeout, queue.caps.max_timeout)));
    row.set(Column::priority, Int16GetDatum(static_cast<std::int16_t>(type.default_priority)));
    row.set(Column::throttle_factor, numeric_datum(type.default_throttle_factor.c_str()));
    row.set(Column::time_windows, job::text_datum(type.default_time_windows));
    row.set(Column::max_retries, Int32GetDatum(queue.max_retries_of(type)));
    if (type.queue_ttl.has_value())
        row.set(Column::queue_ttl, Int32GetDatum(*type.queue_ttl));
    else if (queue.queue_ttl.has_value())
        row.set(Column::queue_ttl, Int32GetDatum(*queue.queue_ttl));
}

void set_the_rest(job::RowValues &row)
{
    for (const Column column : {Column::accepted_time, Column::deadline, Column::expires_time})
        row.set(column, TimestampTzGetDatum(pg::far_time.value));
    for (const Column column : {Column::attempt, Column::retry_count})
        row.set(column, Int32GetDatum(0));
    const Datum none = job::text_datum(core::none_text);
    for (const Column column : {Column::job_key, Column::error, Column::throttle_key,
                                Column::retry_reason, Column::shard_key})
        row.set(column, none);
    row.set(Column::job_data, json_datum("{}"));
    row.set(Column::result, json_datum("null"));
}

}  // namespace

// ---- call outside pg::call() ----

const job::RowValues &start_values(const KnownCatalogue &catalogue, const catalog::Queue &queue,
                                   const catalog::JobType *type)
{
    Values &values = values_of(catalogue);
    const void *key = type != nullptr ? static_cast<const void *>(type) : &queue;
    if (const auto known = values.rows.find(key); known != values.rows.end())
        return known->second;
    const catalog::JobType source =
        type != nullptr ? *type : catalog::unregistered_job_type(queue.id, "");
    job::RowValues row{};
    row.nulls.fill(true);
    pg::call([&] {
        MemoryContext before = ::MemoryContextSwitchTo(values.memory);
        set_what_type_decides(row, source, queue);
        set_the_rest(row);
        ::MemoryContextSwitchTo(before);
    });
    return values.rows.emplace(key, row).first->second;
}

}  // namespace hipq::enqueue
