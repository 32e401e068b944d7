// Checks the values of a job type's arguments.
#include "admin/queues/job_type_arguments.hpp"

#include "catalog/checks.hpp"
#include "catalog/job_parameters.hpp"
#include "pg/time_zone.hpp"

namespace hipq::admin {

namespace {

using catalog::HandlerKind;

template <class Value>
void demand_if_given(const std::optional<Value> &value,
                     std::optional<core::Problem> (*check)(Value))
{
    if (value.has_value())
        catalog::demand(check(*value));
}

std::optional<std::int64_t> maybe_wide(const pg::Arguments &arguments, const char *name)
{
    return arguments.has(name) ? std::optional<std::int64_t>(arguments.integer(name))
                               : std::nullopt;
}

void check_delay(const char *name, const std::optional<std::int64_t> &delay)
{
    if (delay.has_value())
        (void)catalog::check_delay(name, *delay);
}

// Written so that NaN fails.
void check_fraction(const char *name, const std::optional<double> &value, double least, double most)
{
    if (value.has_value() && !(*value >= least && *value <= most))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("%s %g is out of range", name, *value),
                   errhint("Give a number between %g and %g.", least, most));
}

void check_rules(const pg::Arguments &arguments, const char *name)
{
    for (const std::string &rule : arguments.texts_without_nulls(name))
        if (!core::is_valid_rule(rule))
            HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                       errmsg("invalid entry \"%s\" in %s", rule.c_str(), name),
                       errhint("An entry is a reason such as \"timeout\", a SQLSTATE such as "
                               "\"40001\" or a SQLSTATE class such "
                               "as \"40\"."));
}

// Returns the zone's name as PostgreSQL writes it.
std::string read_time_zone(const std::string &name)
{
    const auto zone = pg::TimeZone::find(name);
    if (!zone.has_value())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("time zone \"%s\" does not exist", name.c_str()),
                   errhint("View pg_timezone_names lists the zones."));
    if (!zone->is_listed())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("time zone \"%s\" is not the name of a zone", name.c_str()),
                   errdetail("It says by itself when clocks are changed, if ever; a job type's "
                             "zone follows the time zone database."),
                   errhint("View pg_timezone_names lists the zones. Without time_zone the setting "
                           "TimeZone counts."));
    return zone->name();
}

void check_parameters(const pg::Arguments &arguments)
{
    catalog::require_object(arguments, "parameters");
    if (arguments.has("parameters"))
        catalog::check_job_parameters(arguments.raw("parameters", JSONBOID).value);
    const std::string when = arguments.maybe_text("validate").value_or("enqueue");
    if (when != "enqueue" && when != "run")
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("unknown validate \"%s\"", when.c_str()),
                   errhint("It is enqueue or run."));
}

}  // namespace

void check_values(const pg::Arguments &arguments)
{
    demand_if_given(maybe_wide(arguments, "default_priority"), core::check_priority);
    demand_if_given(arguments.maybe_double("default_throttle_factor"), core::check_throttle_factor);
    demand_if_given(arguments.maybe_double("throttle_limit"), core::check_throttle_limit);
    if (arguments.has("throttle_limit_per_key"))
        pg::demand(core::check_throttle_limit(*arguments.maybe_double("throttle_limit_per_key"),
                                              "throttle_limit_per_key"));
    demand_if_given(maybe_wide(arguments, "max_retries"), core::check_max_retries);
    check_delay("retry_base", arguments.maybe_duration("retry_base"));
    check_delay("retry_max", arguments.maybe_duration("retry_max"));
    check_fraction("retry_multiplier", arguments.maybe_double("retry_multiplier"), 1, 1000);
    check_fraction("retry_jitter", arguments.maybe_double("retry_jitter"), 0, 1);
    check_rules(arguments, "retry_on");
    check_rules(arguments, "do_not_retry_on");
    const std::string missing = arguments.maybe_text("on_missing_handler").value_or("wait");
    if (missing != "wait" && missing != "fail")
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("unknown on_missing_handler \"%s\"", missing.c_str()),
                   errhint("It is wait or fail."));
    demand_if_given(maybe_wide(arguments, "batch_size"), core::check_batch_size);
    catalog::require_object(arguments, "requires");
    check_parameters(arguments);
    const std::string rule = arguments.maybe_text("claim").value_or("auto");
    if (!core::parse_claim_rule(rule).has_value())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("unknown claim \"%s\"", rule.c_str()),
                   errhint("It is auto, lock or record."));
}

std::optional<std::string> zone_to_store(const std::optional<std::string> &given, bool is_new)
{
    if (!given.has_value() && !is_new)
        return std::nullopt;
    return read_time_zone(given.has_value() ? *given : pg::session_time_zone());
}

std::optional<std::string> read_time_windows(const std::optional<std::string> &text)
{
    return text.has_value() ? std::optional(pg::canonical_time_windows(*text)) : std::nullopt;
}

void check_running(HandlerKind kind, core::ClaimRule rule, int batch)
{
    if (rule == core::ClaimRule::lock && kind == HandlerKind::procedure)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("a procedure cannot be claimed by lock"),
                   errdetail("It may commit midway, and the lock would be gone."),
                   errhint("Use claim => 'record' or 'auto'."));
    if (batch > 1 && kind == HandlerKind::procedure)
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("a procedure cannot run several jobs in one transaction"),
                   errdetail("It may commit midway."),
                   errhint("Use batch_size => 1, or a function."));
}

}  // namespace hipq::admin
