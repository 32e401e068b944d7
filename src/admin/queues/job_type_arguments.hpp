// The arguments of register_job_type and alter_job_type, and the checks that both do on them.
#pragma once

#include "catalog/cache.hpp"
#include "pg/arguments.hpp"

namespace hipq::admin {

// By position.
struct TypeArgument {
    enum Position {
        queue_argument,
        job_type_argument,
        handler,
        handler_kind,
        retry_handler,
        default_timeout,
        default_priority,
        default_throttle_factor,
        default_time_windows,
        time_zone,
        max_retries,
        retry_base,
        retry_multiplier,
        retry_max,
        retry_jitter,
        retry_on,
        do_not_retry_on,
        on_missing_handler,
        queue_ttl,
        claim,
        batch_size,
        throttle_limit,
        throttle_limit_per_key,
        required,
        worker_wait_ttl,
        retry_enabled,
        parameters_argument,
        validate,
        attempt_log,
        if_not_exists,          // of register_job_type, before or_replace
        reset = if_not_exists,  // of alter_job_type
    };
};

// Checks each value that does not depend on others; NULL passes.
void check_values(const pg::Arguments &arguments);

// Returns the zone to store: a new type without a given zone gets the zone of the session.
std::optional<std::string> zone_to_store(const std::optional<std::string> &given, bool is_new);

std::optional<std::string> read_time_windows(const std::optional<std::string> &text);

// Reads the entries of retry_on or do_not_retry_on; returns nothing for NULL.
std::optional<std::vector<std::string>> read_rules(const pg::Arguments &arguments, int i,
                                                   const char *name);

// Checks that the handler, claim and batch_size that the type will have fit together.
void check_running(const std::string &handler_text, catalog::HandlerKind kind, core::ClaimRule rule,
                   int batch);

}  // namespace hipq::admin
