// A queue_ttl that external workers will often miss.
#pragma once

#include "catalog/catalog.hpp"

namespace hipq::external {

// Warns when jobs of the type take so long that a worker with one in flight may well not get round
// to the next within `seconds`: over half of that, as measured. Nothing is known of a type whose
// jobs have not run since the server started.
void warn_of_short_ttl(const catalog::Queue &queue, std::string_view job_type,
                       std::optional<std::int32_t> seconds);

}  // namespace hipq::external
