// Implements hipq.enqueue, hipq.enqueue_unique and hipq.enqueue_many.
#include "catalog/cache.hpp"
#include "catalog/name_lock.hpp"
#include "catalog/rights.hpp"
#include "core/job/validate.hpp"
#include "core/text/json_text.hpp"
#include "enqueue/after.hpp"
#include "enqueue/enqueue.hpp"
#include "enqueue/new_job.hpp"
#include "job/aimed_jobs.hpp"
#include "pg/arguments.hpp"
#include "pg/compat.hpp"
#include "pg/demand.hpp"
#include "pg/transaction.hpp"

namespace hipq::enqueue {

namespace {

using catalog::Catalogue;
using catalog::Queue;

// The arguments. enqueue_many has job_keys where enqueue has queue, and no worker.
constexpr pg::Argument at_job_type(0, "job_type");
constexpr pg::Argument at_job_data(1, "job_data");
constexpr pg::Argument at_job_key(3, "job_key");
constexpr pg::Argument at_job_keys(2, "job_keys");
constexpr pg::Argument at_queue_of_one(2, "queue");
constexpr pg::Argument at_queue_of_many(3, "queue");
constexpr pg::Argument at_scheduled_run_time(4, "scheduled_run_time");
constexpr pg::Argument at_priority(5, "priority");
constexpr pg::Argument at_timeout(6, "timeout");
constexpr pg::Argument at_throttle_factor(7, "throttle_factor");
constexpr pg::Argument at_time_windows(8, "time_windows");
constexpr pg::Argument at_max_retries(9, "max_retries");
constexpr pg::Argument at_expires_time(10, "expires_time");
constexpr pg::Argument at_on_duplicate(11, "on_duplicate");
constexpr pg::Argument at_throttle_key(12, "throttle_key");
constexpr pg::Argument at_queue_ttl(13, "queue_ttl");
constexpr pg::Argument at_worker(14, "worker");
constexpr pg::Argument at_job_text(15, "job_text");

// The type of the argument job_data.
enum class DataForm : unsigned char { text, value };

// In 0.2.0 the functions that take a value of any type lack job_text.
int place_of_traceparent(FunctionCallInfo fcinfo)
{
    constexpr int last_in_older_release = 15;
    return std::min<int>(16, std::max<int>(last_in_older_release, fcinfo->nargs - 1));
}
constexpr int place_of_traceparent_of_many = 14;

OnDuplicate demand_on_duplicate(const std::string &text)
{
    if (const auto parsed = parse_on_duplicate(text))
        return *parsed;
    HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
               errmsg("invalid value for on_duplicate: \"%s\"", text.c_str()),
               errhint("Use 'error', 'return', 'replace', 'merge', 'debounce', 'after' or "
                       "'after_first'."));
}

std::optional<std::int16_t> priority_of(const std::optional<std::int32_t> &given)
{
    if (!given.has_value())
        return std::nullopt;
    if (const auto problem = core::check_priority(*given))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s", problem->message.c_str()),
                   errhint("%s", problem->hint.c_str()));
    return static_cast<std::int16_t>(*given);
}

JobOptions options_of(const pg::Arguments &arguments)
{
    return {arguments.text(at_job_type),
            arguments.maybe_time(at_scheduled_run_time),
            priority_of(arguments.maybe_int(at_priority)),
            arguments.maybe_seconds(at_timeout),
            throttle_factor_of(arguments.maybe_double(at_throttle_factor)),
            arguments.maybe_text(at_time_windows, core::most_time_windows),
            arguments.maybe_int(at_max_retries),
            arguments.maybe_time(at_expires_time),
            arguments.maybe_text(at_throttle_key),
            arguments.maybe_seconds(at_queue_ttl)};
}

OnDuplicate on_duplicate_of(const pg::Arguments &arguments, const char *if_not_given)
{
    return demand_on_duplicate(arguments.maybe_text(at_on_duplicate).value_or(if_not_given));
}

// ---- job_data ----

pg::RawValue json_string(const std::string &text)
{
    return pg::call([&] {
        JsonbValue value;
        value.type = jbvString;
        value.val.string.val = const_cast<char *>(text.c_str());
        value.val.string.len = static_cast<int>(text.size());
        return pg::RawValue{JSONBOID, JsonbPGetDatum(::JsonbValueToJsonb(&value))};
    });
}

// Raises the error of jsonb, with a hint for text that was not meant as JSON.
pg::RawValue parse_json(const std::string &text)
{
    std::optional<pg::Error> refusal;
    try {
        return pg::call([&] {
            return pg::RawValue{JSONBOID,
                                DirectFunctionCall1(::jsonb_in, CStringGetDatum(text.c_str()))};
        });
    } catch (const pg::Error &error) {
        if (error.sqlerrcode() != ERRCODE_INVALID_TEXT_REPRESENTATION)
            throw;
        refusal = error;
    }
    const std::string detail = refusal->detail().value_or(refusal->message());
    HIPQ_RAISE(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION), errmsg("job_data is not valid JSON"),
               errdetail_internal("%s", detail.c_str()),
               errhint("Text that begins with {, [ or \" is read as JSON. To enqueue it as a "
                       "string, give it as job_text => '...'."));
}

pg::RawValue json_of_text(const std::string &text)
{
    return core::reads_as_json(text) ? parse_json(text) : json_string(text);
}

pg::RawValue json_of_any(pg::RawValue value)
{
    const pg::Rows rows = pg::run_as_caller("SELECT pg_catalog.to_jsonb($1)", value);
    return rows.front().raw(0);
}

bool has_job_text(FunctionCallInfo fcinfo)
{
    return place_of_traceparent(fcinfo) > *at_job_text.position() &&
           pg::Arguments(fcinfo).has(at_job_text);
}

// Whether job_data has its default value.
bool is_default_data(const pg::Arguments &arguments, DataForm form)
{
    return !arguments.has(at_job_data) ||
           (form == DataForm::text && arguments.text(at_job_data, core::most_json_text) == "{}");
}

// JSON is used as it is; text that is not JSON, and any job_text, becomes a JSON string; any other
// type is converted by to_jsonb().
pg::RawValue data_of(FunctionCallInfo fcinfo, DataForm form)
{
    const pg::Arguments arguments(fcinfo);
    if (has_job_text(fcinfo)) {
        if (!is_default_data(arguments, form))
            HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                       errmsg("job_data and job_text cannot be given together"),
                       errhint("Give job_text alone: the job's data is that string."));
        return json_string(arguments.text(at_job_text, core::most_json_text));
    }
    if (!arguments.has(at_job_data))
        return {JSONBOID, Datum{0}, true};
    const Oid type = pg::call([&] {
        return ::getBaseType(::get_fn_expr_argtype(fcinfo->flinfo, *at_job_data.position()));
    });
    if (type == JSONBOID)
        return arguments.raw(at_job_data, JSONBOID);
    if (type == TEXTOID || type == VARCHAROID || type == BPCHAROID || !OidIsValid(type))
        return json_of_text(arguments.text(at_job_data, core::most_json_text));
    return json_of_any(arguments.raw(at_job_data, type));
}

// ---- the queue ----

// The queues that have the type. If some have a handler for it, only those: a job that was enqueued
// into another queue by name or by mistake adds its type there, and must not make the type
// ambiguous for everyone.
std::vector<const Queue *> queues_with_type(const Catalogue &catalogue, const std::string &job_type)
{
    std::vector<const Queue *> with_handler;
    std::vector<const Queue *> without;
    for (const auto &[id, queue] : catalogue.queues) {
        const catalog::JobType *type = queue.is_dropped ? nullptr : queue.find_job_type(job_type);
        if (type != nullptr)
            (type->handler_kind == catalog::HandlerKind::none ? without : with_handler)
                .push_back(&queue);
    }
    return with_handler.empty() ? without : with_handler;
}

// The built-in queue, created by the first caller that needs it and may create queues.
const Queue &main_queue(std::shared_ptr<const Catalogue> &catalogue, const std::string &job_type)
{
    if (const Queue *queue = catalogue->find("hipq.main"))
        return *queue;
    const bool may_create = pg::call([] {
        // This is not a null pointer, which servers with assertions allow for no arguments only.
        const Oid any_arguments = InvalidOid;
        const Oid function = ::LookupFuncName(
            list_make2(::makeString(::pstrdup("hipq")), ::makeString(::pstrdup("create_queue"))),
            -1, &any_arguments, false);
        return pg::has_right(ProcedureRelationId, function, ::GetUserId(), ACL_EXECUTE);
    });
    if (!may_create)
        HIPQ_RAISE(errcode(ERRCODE_UNDEFINED_OBJECT),
                   errmsg("job type \"%s\" is not registered in any queue", job_type.c_str()),
                   errdetail("The built-in queue \"hipq.main\" does not exist yet."),
                   errhint("Name a queue with queue => 'instance.queue', or have "
                           "hipq.create_queue('hipq.main') called."));
    // Like create_queue(), wait for another transaction that is creating the queue; afterwards the
    // queue exists.
    catalog::lock_queue_name("hipq.main");
    catalogue = catalog::catalogue();
    if (catalogue->find("hipq.main") == nullptr)
        pg::run_as_caller("SELECT hipq.create_queue('hipq.main')");
    catalogue = catalog::catalogue();
    return catalog::require_queue(*catalogue, "hipq.main");
}

}  // namespace

void refuse_ambiguous(const std::vector<const Queue *> &queues, const std::string &message)
{
    std::string names;
    for (const Queue *queue : queues)
        names += (names.empty() ? "" : ", ") + queue->full_name();
    const std::string first = queues.front()->full_name();
    HIPQ_RAISE(errcode(ERRCODE_AMBIGUOUS_PARAMETER), errmsg("%s", message.c_str()),
               errdetail("Queues: %s.", names.c_str()),
               errhint("Name one with queue => '%s'.", first.c_str()));
}

const Queue &queue_for(std::shared_ptr<const Catalogue> &catalogue,
                       const std::optional<std::string> &name, const std::string &job_type)
{
    if (name.has_value())
        return catalog::require_known_queue(*catalogue, *name);
    std::vector<const Queue *> queues = queues_with_type(*catalogue, job_type);
    // Leave out queues on which the caller has no right: no error may name them.
    std::erase_if(queues, [](const Queue *queue) {
        return !catalog::has_any_right(catalog::caller(), *queue);
    });
    if (queues.size() > 1)
        std::erase_if(queues, [](const Queue *queue) {
            return !catalog::may(catalog::caller(), *queue, catalog::Privilege::enqueue);
        });
    if (queues.size() > 1)
        refuse_ambiguous(queues, "job type \"" + job_type + "\" is registered in several queues");
    return queues.empty() ? main_queue(catalogue, job_type) : *queues.front();
}

namespace {

// Whether an existing job would be changed, or the new job would not be in a lane yet.
bool meets_holder(OnDuplicate on_duplicate)
{
    return on_duplicate != OnDuplicate::error && on_duplicate != OnDuplicate::return_holder;
}

// The external worker that the job is for; nothing: any worker.
std::optional<std::string> worker_of(const pg::Arguments &arguments, OnDuplicate on_duplicate)
{
    auto worker = arguments.maybe_text(at_worker);
    if (worker.has_value() && meets_holder(on_duplicate))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("a job for one worker cannot replace or follow another one"),
                   errhint("Use on_duplicate => 'error' or 'return'."));
    return worker;
}

// What a new job comes after; the arguments follow that for the trace.
std::optional<job::After> demand_after(const pg::Arguments &arguments, int place_of_traceparent,
                                       const Catalogue &catalogue, const Queue &queue,
                                       OnDuplicate on_duplicate)
{
    auto after = after_of(arguments, place_of_traceparent + 1, catalogue, queue);
    if (after.has_value() && meets_holder(on_duplicate))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("a job that comes after others cannot replace or follow another one"),
                   errhint("Use on_duplicate => 'error' or 'return'."));
    return after;
}

// The batch of a new job. A job that exists already keeps the batch that it has.
std::optional<std::int64_t> batch_of(const pg::Arguments &arguments, int place_of_traceparent,
                                     OnDuplicate on_duplicate)
{
    const auto batch_id =
        arguments.maybe_int64(pg::Argument::later({place_of_traceparent + 4, "batch"}));
    if (batch_id.has_value() && meets_holder(on_duplicate))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("a job of a batch cannot replace or follow another one"),
                   errhint("Use on_duplicate => 'error' or 'return'."));
    return batch_id;
}

// How the jobs belong to others: the arguments after that for the trace.
std::optional<job::After> read_bonds(const pg::Arguments &arguments, int place_of_traceparent,
                                     const Catalogue &catalogue, const Queue &queue,
                                     OnDuplicate on_duplicate, JobOptions &options)
{
    auto after = demand_after(arguments, place_of_traceparent, catalogue, queue, on_duplicate);
    options.batch_id = batch_of(arguments, place_of_traceparent, on_duplicate);
    if (after.has_value())
        options.waits_for = core::WaitsFor::jobs;
    if (after.has_value() && options.batch_id.has_value())
        demand_no_circle(catalogue, *options.batch_id, *after);
    return after;
}

Enqueued enqueue_one(FunctionCallInfo fcinfo, DataForm form, const char *on_duplicate_if_not_given)
{
    const pg::Arguments arguments(fcinfo);
    const OnDuplicate on_duplicate = on_duplicate_of(arguments, on_duplicate_if_not_given);
    const auto worker = worker_of(arguments, on_duplicate);
    JobOptions options = options_of(arguments);
    auto catalogue = catalog::catalogue();
    const Queue &queue = queue_for(catalogue, arguments.maybe_text(at_queue_of_one), options.type);
    catalog::require(queue, catalog::Privilege::enqueue);
    const int place = place_of_traceparent(fcinfo);
    const auto after = read_bonds(arguments, place, *catalogue, queue, on_duplicate, options);
    if (after.has_value() && worker.has_value())
        HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                   errmsg("a job for one worker cannot come after others"));
    const GivenTraceparent traceparent(arguments.maybe_text({place, "traceparent"}));
    const Enqueued job = enqueue(queue, options, data_of(fcinfo, form),
                                 arguments.maybe_text(at_job_key), on_duplicate);
    if (job.action != EnqueueAction::inserted)
        return job;
    if (worker.has_value())
        job::aim(queue, options.type, job.id, *worker);
    if (after.has_value())
        come_after(queue, {&job.id, 1}, *after);
    return job;
}

Datum enqueue_unique(FunctionCallInfo fcinfo, DataForm form)
{
    const pg::Arguments arguments(fcinfo);
    const auto key = arguments.maybe_text(at_job_key);
    if (!key.has_value() || *key == core::none_text)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("a job without key has no duplicate"),
                   errhint("Give a job_key, or use hipq.enqueue()."));
    const Enqueued job = enqueue_one(fcinfo, form, "return");
    return pg::return_row(fcinfo, job.id, name(job.action));
}

// Detoasts the array once.
const ArrayType *array_of(Datum array)
{
    return pg::call([&] {
        const ArrayType *elements = DatumGetArrayTypeP(array);
        if (ARR_NDIM(elements) > 1)
            ereport(ERROR, errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                    errmsg("job_data must be a one-dimensional array"));
        return elements;
    });
}

std::vector<std::int64_t> enqueue_all(FunctionCallInfo fcinfo)
{
    const pg::Arguments arguments(fcinfo);
    JobOptions options = options_of(arguments);
    if (!arguments.has(at_job_data))
        HIPQ_RAISE(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("job_data cannot be NULL"),
                   errhint("Give an array of jsonb, it may be empty."));
    const ArrayType *data = array_of(fcinfo->args[*at_job_data.position()].value);
    const auto count = static_cast<std::size_t>(
        pg::call([&] { return ::ArrayGetNItems(ARR_NDIM(data), ARR_DIMS(data)); }));
    pg::demand(core::check_count_of("job_data", count, core::most_jobs_at_once));
    const auto keys = arguments.texts(at_job_keys, core::most_jobs_at_once);
    if (arguments.has(at_job_keys) && keys.size() != count)
        HIPQ_RAISE(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                   errmsg("job_keys has %zu elements, job_data has %zu", keys.size(), count),
                   errhint("Give one key per job; NULL for a job without key."));
    auto catalogue = catalog::catalogue();
    const Queue &queue = queue_for(catalogue, arguments.maybe_text(at_queue_of_many), options.type);
    catalog::require(queue, catalog::Privilege::enqueue);
    const OnDuplicate on_duplicate = on_duplicate_of(arguments, "error");
    const auto after = read_bonds(arguments, place_of_traceparent_of_many, *catalogue, queue,
                                  on_duplicate, options);
    const GivenTraceparent traceparent(
        arguments.maybe_text({place_of_traceparent_of_many, "traceparent"}));
    return enqueue_many(queue, options, {JSONBARRAYOID, PointerGetDatum(data)}, count, keys,
                        on_duplicate, after);
}

Datum id_array(const std::vector<std::int64_t> &ids)
{
    return pg::call([&] {
        auto *values = static_cast<Datum *>(::palloc(sizeof(Datum) * (ids.size() + 1)));
        for (std::size_t i = 0; i < ids.size(); ++i)
            values[i] = Int64GetDatum(ids[i]);
        return PointerGetDatum(::construct_array(values, static_cast<int>(ids.size()), INT8OID,
                                                 sizeof(std::int64_t), true, TYPALIGN_DOUBLE));
    });
}

}  // namespace

}  // namespace hipq::enqueue

HIPQ_FUNCTION(hipq_enqueue)
{
    using hipq::enqueue::DataForm;
    return Int64GetDatum(hipq::enqueue::enqueue_one(fcinfo, DataForm::text, "error").id);
}

HIPQ_FUNCTION(hipq_enqueue_value)
{
    using hipq::enqueue::DataForm;
    return Int64GetDatum(hipq::enqueue::enqueue_one(fcinfo, DataForm::value, "error").id);
}

HIPQ_FUNCTION(hipq_enqueue_unique)
{
    return hipq::enqueue::enqueue_unique(fcinfo, hipq::enqueue::DataForm::text);
}

HIPQ_FUNCTION(hipq_enqueue_unique_value)
{
    return hipq::enqueue::enqueue_unique(fcinfo, hipq::enqueue::DataForm::value);
}

HIPQ_FUNCTION(hipq_enqueue_many)
{
    return hipq::enqueue::id_array(hipq::enqueue::enqueue_all(fcinfo));
}
