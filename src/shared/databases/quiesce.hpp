// A quiet moment: a short time in which the executors of one database start no next job, so that a
// change of its tables finds them without locks. Running jobs and their finishes go on.
#pragma once

#include "pg/postgres.hpp"

#include <cstdint>

namespace hipq::databases {

inline constexpr std::int64_t longest_quiesce = 100'000;  // us

// The scheduler begins a quiet moment, which lasts until it is ended or the maximum time is over.
// Returns false if another database has one.
[[nodiscard]] bool begin_quiesce(Oid database) noexcept;
void end_quiesce(Oid database) noexcept;

// For executors, between jobs: is_quiesced() tells whether there is a quiet moment,
// wait_out_quiesce() waits for its end. No transaction may be open.
bool is_quiesced(Oid database);
void wait_out_quiesce(Oid database);

}  // namespace hipq::databases
