// hipq.create_batch: makes a batch, and the job that runs after its jobs.
//
// That job, the callback, is there from the beginning and comes after the batch as any other job
// may: it can be seen and cancelled, and it can neither be lost nor be doubled.
#include "core/flow/waits.hpp"
#include "enqueue/after.hpp"
#include "enqueue/enqueue.hpp"
#include "job/batches/batch_joins.hpp"
#include "job/batches/batch_rows.hpp"
#include "pg/arguments.hpp"
#include "pg/clock.hpp"
#include "pg/duration.hpp"

namespace hipq::enqueue {

namespace {

using catalog::Queue;

// When the callback is called; otherwise it is skipped.
struct CallWhen {
    std::string_view name;
    core::AfterPolicy policy;
    core::OnFailure on_failure;
};
constexpr std::array all_call_when{
    CallWhen{"finished", core::AfterPolicy::finished, core::OnFailure::run},
    CallWhen{"succeeded", core::AfterPolicy::succeeded, core::OnFailure::skip},
    CallWhen{"first_failure", core::AfterPolicy::failed, core::OnFailure::skip}};

const CallWhen &call_when_of(const std::string &word)
{
    const auto found = std::ranges::find(all_call_when, word, &CallWhen::name);
    if (found == all_call_when.end())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("invalid value for call_when: \"%s\"", word.c_str()),
                   errhint("Use 'finished', 'succeeded' or 'first_failure'."));
    return *found;
}

pg::Time expires_time_of(const pg::Arguments &arguments)
{
    const std::int64_t length = arguments.duration("expires_after");
    const pg::Time now = pg::now();
    if (length <= 0 || length >= pg::far_time.value - now.value)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("expires_after must be positive and end before the year 9999"),
                   errhint("It is how long the batch may stay open if nobody closes it."));
    return now + length;
}

const Queue &queue_of(const pg::Arguments &arguments, const std::optional<std::string> &type,
                      KnownCatalogue &catalogue)
{
    const auto name = arguments.maybe_text("queue");
    if (type.has_value())
        return queue_for(catalogue, name, *type);
    if (!name.has_value())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("a batch without callback needs a queue"),
                   errhint("Give queue => 'instance.queue': it decides who may see the batch, and "
                           "how long it is kept."));
    return catalog::require_known_queue(*catalogue, *name);
}

void enqueue_callback(const Queue &queue, const std::string &type, pg::RawValue data,
                      const CallWhen &when, std::int64_t batch_id)
{
    JobOptions options{};
    options.type = type;
    options.throttle_factor = throttle_factor_of(std::nullopt);
    options.waits_for = core::WaitsFor::jobs;
    const auto id = insert_one(queue, options, data, std::nullopt);
    if (!id.has_value())
        refuse_ids_in_use(queue);
    come_after(queue, {&*id, 1},
               {{{batch_id, job::queue_of_batches}}, when.policy, when.on_failure});
}

std::int64_t create_batch(const pg::Arguments &arguments)
{
    const auto type = arguments.maybe_text("callback_type");
    const CallWhen &when = call_when_of(arguments.text("call_when"));
    const pg::Time expires_time = expires_time_of(arguments);
    auto catalogue = catalog::catalogue();
    const Queue &queue = queue_of(arguments, type, catalogue);
    catalog::require(queue, catalog::Privilege::enqueue);
    demand_batches(queue);
    if (type.has_value())
        demand_dependencies(queue);
    const std::int64_t id = job::insert_batch(queue, arguments.maybe_text("name"),
                                              arguments.boolean("closed"), expires_time);
    job::own_new_batch(queue, id);
    if (type.has_value())
        enqueue_callback(queue, *type, arguments.raw("callback_data", JSONBOID), when, id);
    return id;
}

}  // namespace

}  // namespace hipq::enqueue

HIPQ_FUNCTION(hipq_create_batch)
{
    return Int64GetDatum(hipq::enqueue::create_batch(hipq::pg::Arguments(fcinfo)));
}
