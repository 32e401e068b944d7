// What a worker says of its own health: JSON with the keys that hipq.workers_detail.health shows.
#pragma once

#include "core/workers/worker_health.hpp"
#include "pg/guard.hpp"

namespace hipq::external {

// The report, or why it cannot be taken: a sentence. Keys that mean nothing are passed over.
using ReadReport = std::variant<core::SelfReport, std::string>;
ReadReport read_self_report(Datum json);

// The value of the key "health" of an object; nothing if it has none. In the current memory
// context.
std::optional<Datum> health_in(Datum json);

// A text as jsonb; nothing if it is none. Runs in a subtransaction, which an error rolls back.
std::optional<Datum> parse_json(const std::string &text);

// Says to client and log that a report was kept out.
void warn_of_report(const std::string &worker, const std::string &problem);

}  // namespace hipq::external
