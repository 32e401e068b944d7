// How to claim a job, and how many at a time, decided by how long jobs of its type have run so far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hipq::core {

// The setting of a job type (hipq.job_type.claim).
enum class ClaimRule : unsigned char { automatic, lock, record };
std::optional<ClaimRule> parse_claim_rule(std::string_view text);  // "auto", "lock", "record"

// lock: one transaction locks the row, runs the handler and finishes the job; nothing is written
// before. record: state running and the attempt are committed before the handler starts.
enum class ClaimMode : unsigned char { lock, record };

// Under `automatic`, types that take at least this long are recorded.
inline constexpr std::int64_t long_run_time = 50'000;  // us
// An executor takes about this much work at a time.
inline constexpr std::int64_t prefetched_work = 10'000;  // us

// A handler that may commit would release the row lock, so it is always recorded. So is a type
// without a known run time.
ClaimMode claim_mode(ClaimRule rule, bool handler_may_commit, std::optional<std::int64_t> run_time);

// Returns how many jobs to take at once: as many as fill `prefetched_work`, or one for a type that
// is long or unknown; whole batches, at least one; never more than `most`.
std::size_t prefetch_size(std::optional<std::int64_t> run_time, std::size_t batch_size,
                          std::size_t most);

// Returns the average run time after one more run. The latest run has a weight of one eighth.
std::int64_t average_run_time(std::optional<std::int64_t> before, std::int64_t latest);

}  // namespace hipq::core
