// A worker's report of its own health: JSON with the keys that hipq.workers_detail.health shows.
#pragma once

#include "core/workers/worker_health.hpp"
#include "pg/guard.hpp"

namespace hipq::external {

// The report, or a sentence that says why it is rejected. Unknown keys are ignored.
using ReadReport = std::variant<core::SelfReport, std::string>;
ReadReport read_self_report(Datum json);

// Returns the value of the key "health" of an object, in the current memory context; nothing if it
// has none.
std::optional<Datum> health_in(Datum json);

// Returns a text as jsonb; nothing if it is not valid JSON. Runs in a subtransaction, which an
// error rolls back.
std::optional<Datum> parse_json(const std::string &text);

// Reports to client and log that a report was rejected.
void warn_of_report(const std::string &worker, const std::string &problem);

}  // namespace hipq::external
