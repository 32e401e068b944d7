// A quiet moment: a short time in which the executors of one database start no next job, so that a
// change of its tables finds a moment in which none of them holds a lock. Jobs that run, and their
// finishes, go on.
#pragma once

namespace hipq::databases {

inline constexpr std::int64_t longest_quiesce = 100'000;  // us

// Scheduler: begins a quiet moment; it is over when it is ended, or after the longest time. False:
// another database has one.
bool begin_quiesce(Oid database) noexcept;
void end_quiesce(Oid database) noexcept;

// Executor, between jobs: whether there is a quiet moment; waits for its end. No transaction open.
bool is_quiesced(Oid database);
void wait_out_quiesce(Oid database);

}  // namespace hipq::databases
