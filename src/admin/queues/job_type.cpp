// register_job_type and alter_job_type.
#include "admin/queues/described_queues.hpp"
#include "admin/queues/if_exists.hpp"
#include "admin/queues/job_type_arguments.hpp"
#include "admin/queues/job_type_quota.hpp"
#include "admin/queues/resettable.hpp"
#include "admin/queues/sections.hpp"
#include "admin/queues/sharding.hpp"
#include "catalog/cache.hpp"
#include "catalog/checks.hpp"
#include "catalog/read_handler.hpp"
#include "external/external.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "recovery/recovery.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::admin {

namespace {

using catalog::HandlerText;
using catalog::JobType;
using catalog::Queue;

// Arguments that fall back to a setting if the type has no value.
constexpr std::array<Resettable, 10> resettable_of_type{
    {{"default_timeout", TypeArgument::default_timeout},
     {"max_retries", TypeArgument::max_retries},
     {"retry_base", TypeArgument::retry_base},
     {"retry_multiplier", TypeArgument::retry_multiplier},
     {"retry_max", TypeArgument::retry_max},
     {"retry_jitter", TypeArgument::retry_jitter},
     {"queue_ttl", TypeArgument::queue_ttl},
     {"worker_wait_ttl", TypeArgument::worker_wait_ttl},
     {"retry_enabled", TypeArgument::retry_enabled},
     {"attempt_log", TypeArgument::attempt_log}}};

// Replaces a type without a handler, which hipq creates for a job of an unregistered type.
constinit pg::Statement insert_job_type(R"(
    INSERT INTO hipq.job_type AS present
        (queue_id, name, handler, handler_kind, retry_handler, default_timeout, default_priority, default_throttle_factor,
         default_time_windows, time_zone, max_retries, retry_base, retry_multiplier, retry_max, retry_jitter, retry_on, do_not_retry_on,
         on_missing_handler, queue_ttl, claim, batch_size, throttle_limit, throttle_limit_per_key, requires, worker_wait_ttl,
         retry_enabled, parameters, validate, attempt_log)
    SELECT queue.queue_id, $2, $3, $4, $5, $6, coalesce($7, 0), coalesce($8, 1), coalesce($9, 'NONE'), $10,
            $11, $12, $13, $14, $15, coalesce($16, '{}'), coalesce($17, '{}'), coalesce($18, 'wait'), $19,
            coalesce($20, 'auto'), coalesce($21, 1), coalesce($22, 0), coalesce($23, 0), coalesce($24, '{}'), $25, $26,
            coalesce($27, '{}'), coalesce($28, 'enqueue'), $29
    FROM hipq.queue AS queue
    WHERE queue.queue_id = $1
    FOR KEY SHARE
    ON CONFLICT (queue_id, name) DO UPDATE
    SET handler = EXCLUDED.handler, handler_kind = EXCLUDED.handler_kind, retry_handler = EXCLUDED.retry_handler,
        default_timeout = EXCLUDED.default_timeout, default_priority = EXCLUDED.default_priority,
        default_throttle_factor = EXCLUDED.default_throttle_factor, default_time_windows = EXCLUDED.default_time_windows,
        time_zone = EXCLUDED.time_zone, max_retries = EXCLUDED.max_retries, retry_base = EXCLUDED.retry_base,
        retry_multiplier = EXCLUDED.retry_multiplier, retry_max = EXCLUDED.retry_max, retry_jitter = EXCLUDED.retry_jitter,
        retry_on = EXCLUDED.retry_on, do_not_retry_on = EXCLUDED.do_not_retry_on, on_missing_handler = EXCLUDED.on_missing_handler,
        queue_ttl = EXCLUDED.queue_ttl, claim = EXCLUDED.claim, batch_size = EXCLUDED.batch_size,
        throttle_limit = EXCLUDED.throttle_limit, throttle_limit_per_key = EXCLUDED.throttle_limit_per_key,
        requires = EXCLUDED.requires, worker_wait_ttl = EXCLUDED.worker_wait_ttl, retry_enabled = EXCLUDED.retry_enabled,
        parameters = EXCLUDED.parameters, validate = EXCLUDED.validate, attempt_log = EXCLUDED.attempt_log, is_registered = true
    WHERE present.handler_kind = 'none')");

constinit pg::Statement update_job_type(R"(
    UPDATE hipq.job_type
    SET handler = coalesce($3, handler), handler_kind = coalesce($4, handler_kind), retry_handler = coalesce($5, retry_handler),
        default_timeout = CASE WHEN 'default_timeout' = ANY ($30) THEN NULL ELSE coalesce($6, default_timeout) END,
        default_priority = coalesce($7, default_priority),
        default_throttle_factor = coalesce($8, default_throttle_factor),
        default_time_windows = coalesce($9, default_time_windows),
        time_zone = coalesce($10, time_zone),
        max_retries = CASE WHEN 'max_retries' = ANY ($30) THEN NULL ELSE coalesce($11, max_retries) END,
        retry_base = CASE WHEN 'retry_base' = ANY ($30) THEN NULL ELSE coalesce($12, retry_base) END,
        retry_multiplier = CASE WHEN 'retry_multiplier' = ANY ($30) THEN NULL ELSE coalesce($13, retry_multiplier) END,
        retry_max = CASE WHEN 'retry_max' = ANY ($30) THEN NULL ELSE coalesce($14, retry_max) END,
        retry_jitter = CASE WHEN 'retry_jitter' = ANY ($30) THEN NULL ELSE coalesce($15, retry_jitter) END,
        retry_on = coalesce($16, retry_on), do_not_retry_on = coalesce($17, do_not_retry_on),
        on_missing_handler = coalesce($18, on_missing_handler),
        queue_ttl = CASE WHEN 'queue_ttl' = ANY ($30) THEN NULL ELSE coalesce($19, queue_ttl) END,
        claim = coalesce($20, claim), batch_size = coalesce($21, batch_size),
        throttle_limit = coalesce($22, throttle_limit), throttle_limit_per_key = coalesce($23, throttle_limit_per_key),
        requires = coalesce($24, requires),
        worker_wait_ttl = CASE WHEN 'worker_wait_ttl' = ANY ($30) THEN NULL ELSE coalesce($25, worker_wait_ttl) END,
        retry_enabled = CASE WHEN 'retry_enabled' = ANY ($30) THEN NULL ELSE coalesce($26, retry_enabled) END,
        parameters = coalesce($27, parameters), validate = coalesce($28, validate),
        attempt_log = CASE WHEN 'attempt_log' = ANY ($30) THEN NULL ELSE coalesce($29, attempt_log) END,
        is_registered = true
    WHERE queue_id = $1 AND name = $2)");

// Returns an array as a parameter, NULL if there is none.
pg::Parameter array_parameter(const std::optional<std::vector<std::string>> &texts)
{
    if (texts.has_value())
        return {*texts};
    return {pg::RawValue{TEXTARRAYOID, Datum{0}, true}};
}

// Runs insert_job_type or, with `to_reset`, update_job_type; both have the same $1 .. $29. Returns
// whether a row was written.
bool store(const Queue &queue, const std::string &name, const pg::Arguments &arguments,
           const std::optional<HandlerText> &what, const std::optional<std::string> &decider,
           const std::vector<std::string> *to_reset)
{
    using enum TypeArgument::Position;
    const std::optional<std::string> windows =
        read_time_windows(arguments.maybe_text(default_time_windows, core::most_time_windows));
    const std::optional<std::string> zone =
        zone_to_store(arguments.maybe_text(time_zone), to_reset == nullptr);
    if (zone.has_value())
        wakeup::note_change_of_zone();
    const auto retried = read_rules(arguments, retry_on, "retry_on");
    const auto not_retried = read_rules(arguments, do_not_retry_on, "do_not_retry_on");
    const std::optional<std::string> missing = arguments.maybe_text(on_missing_handler);
    const std::optional<std::string> claim_text = arguments.maybe_text(claim);
    const std::optional<std::string> validated = arguments.maybe_text(validate);
    const std::optional<std::string> handler_text =
        what.has_value() ? std::optional(what->handler) : std::nullopt;
    const std::optional<std::string> kind_text =
        what.has_value() ? std::optional<std::string>(catalog::name(what->kind)) : std::nullopt;
    const auto interval_at = [&](int i) { return pg::interval_of(arguments.maybe_duration(i)); };
    std::vector<pg::Parameter> parameters{queue.id,
                                          name,
                                          handler_text,
                                          kind_text,
                                          decider,
                                          arguments.maybe_seconds(default_timeout),
                                          arguments.maybe_int(default_priority),
                                          arguments.maybe_double(default_throttle_factor),
                                          windows,
                                          zone,
                                          arguments.maybe_int(max_retries),
                                          interval_at(retry_base),
                                          arguments.maybe_double(retry_multiplier),
                                          interval_at(retry_max),
                                          arguments.maybe_double(retry_jitter),
                                          array_parameter(retried),
                                          array_parameter(not_retried),
                                          missing,
                                          arguments.maybe_seconds(queue_ttl),
                                          claim_text,
                                          arguments.maybe_int(batch_size),
                                          arguments.maybe_double(throttle_limit),
                                          arguments.maybe_double(throttle_limit_per_key),
                                          arguments.raw(required, JSONBOID),
                                          arguments.maybe_seconds(worker_wait_ttl, 0),
                                          arguments.maybe_bool(retry_enabled),
                                          arguments.raw(parameters_argument, JSONBOID),
                                          validated,
                                          arguments.maybe_bool(attempt_log)};
    pg::Statement &statement = to_reset == nullptr ? insert_job_type : update_job_type;
    if (to_reset != nullptr)
        parameters.emplace_back(*to_reset);
    return pg::as_hipq([&] {
        return statement.execute(std::span<const pg::Parameter>(parameters)).processed() > 0;
    });
}

// Checks only the timeout. The caps are the owner's own, so the owner may choose any priority and
// throttle_factor for a type.
void demand_timeout_cap(const Queue &queue, const pg::Arguments &arguments)
{
    if (const auto timeout = arguments.maybe_seconds(TypeArgument::default_timeout);
        timeout.has_value())
        pg::demand(core::check_timeout_cap(*timeout, queue.caps));
}

constinit pg::Statement
    lock_job_type("SELECT FROM hipq.job_type WHERE queue_id = $1 AND name = $2 FOR NO KEY UPDATE");

// Replaces a registered type. Keeps the time zone if none is given: it would be the session's.
void replace_job_type(const Queue &queue, const JobType &present, const pg::Arguments &arguments,
                      const HandlerText &what, const std::string &decider)
{
    pg::as_hipq([&] { lock_job_type.run(queue.id, present.name); });
    const Object before = read_job_type(queue.id, present.name);
    const std::vector<std::string> to_reset = not_given(arguments, resettable_of_type);
    if (!store(queue, present.name, arguments, what, decider, &to_reset))
        catalog::raise_unknown_type(present.name, queue.full_name());
    if (what.handler != present.handler || decider != present.retry_handler)
        recovery::forget_type_crashes(queue.id, present.name);
    wakeup::note_catalogue_change();
    tell_of_new_places(queue);
    tell_of_changes(before, read_job_type(queue.id, present.name));
}

[[noreturn]] void raise_present(const Queue &queue, const std::string &name)
{
    const std::string queue_name = queue.full_name();
    HIPQ_RAISE(
        errcode(ERRCODE_DUPLICATE_OBJECT),
        errmsg("job type \"%s\" of queue \"%s\" already exists", name.c_str(), queue_name.c_str()),
        errhint("Change it with hipq.alter_job_type(), or use or_replace => true."));
}

// Returns the type if it is registered, else null.
const JobType *find_registered(const catalog::Catalogue &catalogue, const Queue &queue,
                               const std::string &name)
{
    const Queue *found = catalogue.find(queue.id);
    const JobType *type = found == nullptr ? nullptr : found->find_job_type(name);
    return type != nullptr && type->is_registered ? type : nullptr;
}

// With if_not_exists and or_replace, looks for the type before storing it, and again if another
// session has stored it meanwhile.
void register_job_type(const pg::Arguments &arguments, IfExists if_exists)
{
    using enum TypeArgument::Position;
    const auto catalogue = catalog::catalogue();
    const Queue &queue =
        catalog::require_own_queue(*catalogue, arguments.text(queue_argument, "queue"));
    const std::string name = arguments.text(job_type_argument, "job_type");
    const std::string object = object_name(Section::job_types, {queue.full_name(), name});
    pg::demand(core::check_job_type(name));
    note_places(queue);
    const JobType *present =
        if_exists == IfExists::fails ? nullptr : find_registered(*catalogue, queue, name);
    if (present != nullptr && if_exists == IfExists::stays)
        return tell_of_existing(object);
    check_values(arguments);
    demand_timeout_cap(queue, arguments);
    const HandlerText what = catalog::read_handler(
        queue, arguments.maybe_text(handler, core::most_handler_text).value_or("NONE"),
        arguments.maybe_text(handler_kind).value_or("auto"));
    const std::string decider =
        catalog::read_retry_handler(queue, arguments.maybe_text(retry_handler).value_or("NONE"));
    check_running(what.handler, what.kind,
                  core::parse_claim_rule(arguments.maybe_text(claim).value_or("auto")).value(),
                  arguments.maybe_int(batch_size).value_or(1));
    external::warn_of_short_ttl(queue, name, arguments.maybe_seconds(queue_ttl));
    if (present == nullptr && store(queue, name, arguments, what, decider, nullptr)) {
        demand_job_type_quota(queue);
        wakeup::note_catalogue_change();
        tell_of_new_places(queue);
        return tell_if_new(if_exists, object);
    }
    if (if_exists == IfExists::fails)
        raise_present(queue, name);
    if (if_exists == IfExists::stays)
        return tell_of_existing(object);
    const auto latest = catalog::catalogue();
    present = find_registered(*latest, queue, name);
    if (present == nullptr)
        catalog::raise_unknown_type(name, queue.full_name());
    replace_job_type(queue, *present, arguments, what, decider);
}

// Reads a new handler if one is given. A kind without a handler can only mean external workers.
std::optional<HandlerText> read_new_handler(const Queue &queue, const pg::Arguments &arguments)
{
    const std::string kind = arguments.maybe_text(TypeArgument::handler_kind).value_or("auto");
    const std::optional<std::string> text =
        arguments.maybe_text(TypeArgument::handler, core::most_handler_text);
    if (!text.has_value() && kind == "auto")
        return std::nullopt;
    return catalog::read_handler(queue, text.value_or("NONE"), kind);
}

void alter_job_type(const pg::Arguments &arguments)
{
    const auto catalogue = catalog::catalogue();
    const Queue &queue = catalog::require_own_queue(
        *catalogue, arguments.text(TypeArgument::queue_argument, "queue"));
    const std::string name = arguments.text(TypeArgument::job_type_argument, "job_type");
    const JobType *present = queue.find_job_type(name);
    if (present == nullptr)
        catalog::raise_unknown_type(name, queue.full_name());
    note_places(queue);
    check_values(arguments);
    demand_timeout_cap(queue, arguments);
    external::warn_of_short_ttl(queue, name, arguments.maybe_seconds(TypeArgument::queue_ttl));
    const std::vector<std::string> to_reset =
        read_reset(arguments, TypeArgument::reset, resettable_of_type);
    const std::optional<HandlerText> what = read_new_handler(queue, arguments);
    std::optional<std::string> decider = arguments.maybe_text(TypeArgument::retry_handler);
    if (decider.has_value())
        decider = catalog::read_retry_handler(queue, *decider);
    const std::optional<std::string> rule = arguments.maybe_text(TypeArgument::claim);
    check_running(what.has_value() ? what->handler : present->handler,
                  what.has_value() ? what->kind : present->handler_kind,
                  rule.has_value() ? core::parse_claim_rule(*rule).value() : present->claim,
                  arguments.maybe_int(TypeArgument::batch_size).value_or(present->batch_size));
    if (!store(queue, name, arguments, what, decider,
               &to_reset))  // dropped since the catalogue was read
        catalog::raise_unknown_type(name, queue.full_name());
    if (!present->is_registered)
        demand_job_type_quota(queue);
    if (what.has_value() || decider.has_value())
        recovery::forget_type_crashes(queue.id, name);
    wakeup::note_catalogue_change();
    tell_of_new_places(queue);
}

}  // namespace

}  // namespace hipq::admin

HIPQ_FUNCTION(hipq_register_or_replace_job_type)
{
    const hipq::pg::Arguments arguments(fcinfo);
    hipq::admin::register_job_type(
        arguments,
        hipq::admin::read_if_exists(arguments, hipq::admin::TypeArgument::if_not_exists));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq_alter_whole_job_type)
{
    hipq::admin::alter_job_type(hipq::pg::Arguments(fcinfo));
    return hipq::pg::return_void();
}
