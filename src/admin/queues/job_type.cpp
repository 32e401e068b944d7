// register_job_type and alter_job_type.
#include "admin/queues/described_queues.hpp"
#include "admin/queues/if_exists.hpp"
#include "admin/queues/job_type_arguments.hpp"
#include "admin/queues/job_type_quota.hpp"
#include "admin/queues/options.hpp"
#include "admin/queues/rate_arguments.hpp"
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
#include "tables/queue_table.hpp"

namespace hipq::admin {

namespace {

using catalog::HandlerText;
using catalog::JobType;
using catalog::Queue;

constexpr std::array<Option, 31> options_of_type{
    {{"handler", Option::Kind::computed},
     {"handler_kind", Option::Kind::computed},
     {"retry_handler", Option::Kind::computed},
     {"default_timeout", Option::Kind::seconds},
     {"default_priority", Option::Kind::integer, "0"},
     {"default_throttle_factor", Option::Kind::number, "1"},
     {"default_time_windows", Option::Kind::computed, "'NONE'"},
     {"time_zone", Option::Kind::computed},
     {"max_retries", Option::Kind::integer},
     {"retry_base", Option::Kind::interval},
     {"retry_multiplier", Option::Kind::number},
     {"retry_max", Option::Kind::interval},
     {"retry_jitter", Option::Kind::number},
     {"retry_on", Option::Kind::texts, "'{}'"},
     {"do_not_retry_on", Option::Kind::texts, "'{}'"},
     {"on_missing_handler", Option::Kind::text, "'wait'"},
     {"queue_ttl", Option::Kind::seconds},
     {"claim", Option::Kind::text, "'auto'"},
     {"batch_size", Option::Kind::integer, "1"},
     {"throttle_limit", Option::Kind::number, "0"},
     {"throttle_limit_per_key", Option::Kind::number, "0"},
     {"requires", Option::Kind::json, "'{}'"},
     {"worker_wait_ttl", Option::Kind::seconds_or_zero},
     {"retry_enabled", Option::Kind::boolean},
     {"parameters", Option::Kind::json, "'{}'"},
     {"validate", Option::Kind::text, "'enqueue'"},
     {"attempt_log", Option::Kind::boolean},
     {"rate_limit", Option::Kind::computed, "'NONE'"},
     {"rate_limit_per_key", Option::Kind::computed, "'NONE'"},
     {"rate_mode", Option::Kind::text, "'exact'"},
     {"breaker", Option::Kind::computed, "'NONE'"}}};

// Replaces a type without a handler, which hipq creates for a job of an unregistered type. The
// options are $3 and on.
std::string insert_sql(const OptionValues &values)
{
    return "INSERT INTO hipq.job_type AS present (queue_id, name, " + values.columns() +
           ") SELECT queue.queue_id, $2, " + values.of_new(3) +
           " FROM hipq.queue AS queue WHERE queue.queue_id = $1 FOR KEY SHARE"
           " ON CONFLICT (queue_id, name) DO UPDATE SET is_registered = true, " +
           values.from_excluded() + " WHERE present.handler_kind = 'none'";
}

// $3: the options to reset; the options are $4 and on.
std::string update_sql(const OptionValues &values)
{
    return "UPDATE hipq.job_type SET is_registered = true, " + values.changes(4, 3) +
           " WHERE queue_id = $1 AND name = $2";
}

// Stores a new type or, with `to_reset`, changes one. Returns whether a row was written.
bool store(const Queue &queue, const std::string &name, const pg::Arguments &arguments,
           const std::optional<HandlerText> &what, const std::optional<std::string> &decider,
           const std::vector<std::string> *to_reset)
{
    const auto windows =
        read_time_windows(arguments.maybe_text("default_time_windows", core::most_time_windows));
    const auto zone = zone_to_store(arguments.maybe_text("time_zone"), to_reset == nullptr);
    if (zone.has_value())
        wakeup::note_change_of_zone();
    const auto rate = read_rate(arguments);
    demand_one_server(rate, queue.id);
    const auto rate_per_key = read_rate_per_key(arguments);
    demand_one_server(rate_per_key, queue.id);
    const auto breaker = read_breaker(arguments);
    if (breaker.has_value() && *breaker != core::none_text)
        demand_one_server_for_breaker(queue.id);
    OptionValues values(arguments, options_of_type);
    values.set("rate_limit", rate);
    values.set("rate_limit_per_key", rate_per_key);
    values.set("breaker", breaker);
    const auto kind =
        what.has_value() ? std::optional<std::string>(catalog::name(what->kind)) : std::nullopt;
    if (what.has_value()) {
        values.set("handler", what->handler);
        values.set("handler_kind", *kind);
    }
    values.set("retry_handler", decider);
    values.set("default_time_windows", windows);
    values.set("time_zone", zone);
    return pg::as_hipq([&] {
        if (what.has_value() && what->kind == catalog::HandlerKind::notify)
            tables::leave_room_for_claims(queue.table);  // workers' jobs are claimed by record
        return (to_reset == nullptr
                    ? pg::execute_once(insert_sql(values), values.after({queue.id, name}))
                    : pg::execute_once(update_sql(values),
                                       values.after({queue.id, name, *to_reset})))
                   .processed() > 0;
    });
}

// Checks only the timeout. The caps are the owner's own, so the owner may choose any priority and
// throttle_factor for a type.
void demand_timeout_cap(const Queue &queue, const pg::Arguments &arguments)
{
    if (const auto timeout = arguments.maybe_seconds("default_timeout"); timeout.has_value())
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
    const std::vector<std::string> to_reset = not_given(arguments, options_of_type);
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
    const auto catalogue = catalog::catalogue();
    const Queue &queue = catalog::require_own_queue(*catalogue, arguments.text("queue"));
    const std::string name = arguments.text("job_type");
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
        queue, arguments.maybe_text("handler", core::most_handler_text).value_or("NONE"),
        arguments.maybe_text("handler_kind").value_or("auto"));
    const std::string decider =
        catalog::read_retry_handler(queue, arguments.maybe_text("retry_handler").value_or("NONE"));
    check_running(what.kind,
                  core::parse_claim_rule(arguments.maybe_text("claim").value_or("auto")).value(),
                  arguments.maybe_int("batch_size").value_or(1));
    external::warn_of_short_ttl(queue, name, arguments.maybe_seconds("queue_ttl"));
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
    const std::string kind = arguments.maybe_text("handler_kind").value_or("auto");
    const std::optional<std::string> text =
        arguments.maybe_text("handler", core::most_handler_text);
    if (!text.has_value() && kind == "auto")
        return std::nullopt;
    return catalog::read_handler(queue, text.value_or("NONE"), kind);
}

void alter_job_type(const pg::Arguments &arguments)
{
    const auto catalogue = catalog::catalogue();
    const Queue &queue = catalog::require_own_queue(*catalogue, arguments.text("queue"));
    const std::string name = arguments.text("job_type");
    const JobType *present = queue.find_job_type(name);
    if (present == nullptr)
        catalog::raise_unknown_type(name, queue.full_name());
    note_places(queue);
    check_values(arguments);
    demand_timeout_cap(queue, arguments);
    external::warn_of_short_ttl(queue, name, arguments.maybe_seconds("queue_ttl"));
    const std::vector<std::string> to_reset = read_reset(arguments, options_of_type);
    const std::optional<HandlerText> what = read_new_handler(queue, arguments);
    std::optional<std::string> decider = arguments.maybe_text("retry_handler");
    if (decider.has_value())
        decider = catalog::read_retry_handler(queue, *decider);
    const std::optional<std::string> rule = arguments.maybe_text("claim");
    check_running(what.has_value() ? what->kind : present->handler_kind,
                  rule.has_value() ? core::parse_claim_rule(*rule).value() : present->claim,
                  arguments.maybe_int("batch_size").value_or(present->batch_size));
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
    hipq::admin::register_job_type(arguments, hipq::admin::read_if_exists(arguments));
    return hipq::pg::return_void();
}

HIPQ_FUNCTION(hipq_alter_whole_job_type)
{
    hipq::admin::alter_job_type(hipq::pg::Arguments(fcinfo));
    return hipq::pg::return_void();
}
