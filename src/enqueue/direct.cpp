// Builds the rows of the jobs of one call and writes them to the live leaf.
//
// Each row is a copy of the values of the options, with the job's own data and key.
#include "enqueue/direct.hpp"

#include "core/job/validate.hpp"
#include "job/current_job.hpp"
#include "job/fitting_data.hpp"
#include "nodes/nodes.hpp"
#include "pg/version_mismatch.hpp"

namespace hipq::enqueue {

namespace {

using core::Column;

std::size_t size_of(pg::RawValue data)
{
    return data.null ? 0 : VARSIZE_ANY(DatumGetPointer(data.value));
}

// How many rows to write at once: at least one.
std::size_t count_at_once(std::span<const pg::RawValue> data)
{
    std::size_t count = 0;
    std::size_t bytes = 0;
    while (count < std::min(rows_at_once, data.size()) && bytes < bytes_at_once)
        bytes += size_of(data[count++]);
    return count;
}

Datum datum_of_text(std::string_view text)
{
    return pg::call([&] { return job::text_datum(text); });
}

// Tables of 0.2.0 cannot hold jobs, and have no batches.
void demand_column(const catalog::Queue &queue, Column column)
{
    if (!queue.has_waits)
        pg::raise_missing_column(
            pg::call([] { return ::get_relname_relid("job", ::get_namespace_oid("hipq", false)); }),
            std::string(core::name(column)));
}

// `chosen` has the values of the job except for its data and key.
job::RowValues completed(const job::RowValues &chosen, const KnownCatalogue &catalogue,
                         const catalog::Queue &queue, pg::RawValue data,
                         const std::optional<std::string> &key, DrawnId id)
{
    job::RowValues job = checked_job(chosen, queue, data, key);
    if (id.has_value())
        give_drawn_id(job, *id, queue);
    fill_new_job(job, catalogue, queue);
    return job;
}

}  // namespace

job::RowValues chosen_values(const catalog::Queue &queue, const JobOptions &options)
{
    job::RowValues chosen{};
    chosen.nulls.fill(true);
    const auto choose = [&](Column column, const auto &value, auto &&datum_of) {
        if (value.has_value())
            chosen.set(column, datum_of(*value));
    };
    const auto time_datum = [](pg::Time time) { return TimestampTzGetDatum(time.value); };
    const auto int_datum = [](int number) { return Int32GetDatum(number); };
    chosen.set(Column::queue_id, Int32GetDatum(queue.id));
    chosen.set(Column::job_type, datum_of_text(options.type));
    choose(Column::scheduled_run_time, options.scheduled_run_time, time_datum);
    choose(Column::priority, options.priority,
           [](std::int16_t priority) { return Int16GetDatum(priority); });
    choose(Column::timeout, options.timeout, int_datum);
    choose(Column::time_windows, options.time_windows, datum_of_text);
    choose(Column::max_retries, options.max_retries, int_datum);
    choose(Column::expires_time, options.expires_time, time_datum);
    choose(Column::throttle_key, options.throttle_key, datum_of_text);
    choose(Column::queue_ttl, options.queue_ttl, int_datum);
    if (options.waits_for.has_value()) {
        demand_column(queue, Column::waits_for);
        chosen.set(Column::waits_for, datum_of_text(core::name(*options.waits_for)));
    }
    if (options.batch_id.has_value()) {
        demand_column(queue, Column::batch_id);
        chosen.set(Column::batch_id, Int64GetDatum(*options.batch_id));
    }
    if (options.schedule_time.has_value()) {
        demand_column(queue, Column::schedule_time);
        chosen.set(Column::schedule_time, time_datum(*options.schedule_time));
    }
    if (!options.throttle_factor.null)
        chosen.set(Column::throttle_factor, options.throttle_factor.value);
    return chosen;
}

job::RowValues checked_job(const job::RowValues &chosen, const catalog::Queue &queue,
                           pg::RawValue data, const std::optional<std::string> &key)
{
    job::RowValues job = chosen;
    if (!data.null)
        job.set(Column::job_data, data.value);
    if (key.has_value())
        job.set(Column::job_key, datum_of_text(*key));
    check_new_job(job, queue);
    return job;
}

void demand_same_scope(const catalog::Queue &before, const catalog::Queue &present)
{
    if (before.has_keys_by_shard() == present.has_keys_by_shard() &&
        (!before.has_keys_by_shard() || before.shard_key_text == present.shard_key_text))
        return;
    const std::string name = before.full_name();
    HIPQ_RAISE(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
               errmsg("the scope of keys of queue \"%s\" has been changed meanwhile", name.c_str()),
               errhint("Try again."));
}

std::string scope_of_key(const job::RowValues &chosen, const catalog::Queue &queue,
                         pg::RawValue data, const std::string &key)
{
    if (!queue.has_keys_by_shard())
        return std::string(core::none_text);
    job::RowValues job = chosen;
    if (!data.null)
        job.set(Column::job_data, data.value);
    job.set(Column::job_key, datum_of_text(key));
    job::complete_job_data(job, queue.find_job_type(job.as_text(Column::job_type)));
    return nodes::shard_key_of(job, queue).value_or(std::string(core::none_text));
}

job::RowValues new_job(const KnownCatalogue &catalogue, const catalog::Queue &queue,
                       const JobOptions &options, pg::RawValue data,
                       const std::optional<std::string> &key)
{
    return completed(chosen_values(queue, options), catalogue, queue, data, key, std::nullopt);
}

std::optional<DirectEnqueue> DirectEnqueue::begin(const catalog::Queue &queue,
                                                  const JobOptions &options, NewRows::With with)
{
    std::optional<NewRows> rows = NewRows::open(queue, with);
    if (!rows.has_value())
        return std::nullopt;
    // The catalogue may have changed while this waited for the lock.
    KnownCatalogue catalogue = catalog::catalogue();
    const catalog::Queue *present = catalogue->find(queue.id);
    if (present == nullptr) {
        rows->close();
        return std::nullopt;
    }
    demand_same_scope(queue, *present);
    job::RowValues chosen = chosen_values(*present, options);
    rows->coerce(chosen);
    return DirectEnqueue(*rows, std::move(catalogue), *present, chosen);
}

job::RowValues DirectEnqueue::new_job(pg::RawValue data, const std::optional<std::string> &key,
                                      DrawnId id) const
{
    return completed(chosen_, catalogue_, *queue_, data, key, id);
}

std::optional<std::int64_t>
DirectEnqueue::insert_unless_taken(pg::RawValue data, const std::optional<std::string> &key,
                                   DrawnId id)
{
    const job::RowValues job = new_job(data, key, id);
    job::make_capacity_for_successor(*queue_, job);
    if (!rows_.insert_unless_taken(job))
        return std::nullopt;
    note_new_job(rows_.leaf(), job, *queue_);
    return job.as_int64(Column::id);
}

std::vector<std::int64_t> DirectEnqueue::insert(std::span<const pg::RawValue> data,
                                                std::span<const std::int64_t> drawn_ids)
{
    std::vector<std::int64_t> ids;
    std::vector<job::RowValues> jobs;
    ids.reserve(data.size());
    for (std::size_t count = 0; !data.empty(); data = data.subspan(count)) {
        count = count_at_once(data);
        jobs.clear();
        for (std::size_t i = 0; i < count; ++i)
            jobs.push_back(
                new_job(data[i], std::nullopt,
                        drawn_ids.empty() ? DrawnId() : DrawnId(drawn_ids[ids.size() + i])));
        if (!rows_.insert(jobs))
            break;
        for (const job::RowValues &job : jobs) {
            note_new_job(rows_.leaf(), job, *queue_);
            ids.push_back(job.as_int64(Column::id));
        }
    }
    return ids;
}

}  // namespace hipq::enqueue
