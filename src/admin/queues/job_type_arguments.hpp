// The checks that register_job_type and alter_job_type do on their arguments.
#pragma once

#include "catalog/cache.hpp"
#include "pg/arguments.hpp"

namespace hipq::admin {

// Checks each value that does not depend on others; NULL passes.
void check_values(const pg::Arguments &arguments);

// Returns the zone to store: a new type without a given zone gets the zone of the session.
std::optional<std::string> zone_to_store(const std::optional<std::string> &given, bool is_new);

std::optional<std::string> read_time_windows(const std::optional<std::string> &text);

// Checks that the handler, claim and batch_size that the type will have fit together.
void check_running(catalog::HandlerKind kind, core::ClaimRule rule, int batch);

}  // namespace hipq::admin
