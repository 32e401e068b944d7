// How a job is claimed, and how many at a time: decided by how long jobs of its type have run so
// far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hipq::core {

// What a job type says (hipq.job_type.claim).
enum class ClaimRule : unsigned char { automatic, lock, record };
std::optional<ClaimRule> parse_claim_rule(std::string_view text);  // "auto", "lock", "record"

// lock: the row is locked, the handler runs and the job is finished in one transaction; nothing is
// written before. record: state running and the attempt are committed before the handler starts.
enum class ClaimMode : unsigned char { lock, record };

// Types that take at least this long are recorded under `automatic`.
inline constexpr std::int64_t long_run_time = 50'000;  // us
// An executor takes about this much work at once.
inline constexpr std::int64_t prefetched_work = 10'000;  // us

// A handler that may commit would give the row lock away: it is always recorded. So is a type that
// was never seen to run.
ClaimMode claim_mode(ClaimRule rule, bool handler_may_commit, std::optional<std::int64_t> run_time);

// Jobs to take at once: as many as fill `prefetched_work`, one for a type never seen or long; whole
// batches, one at least; never more than `most`.
std::size_t prefetch_size(std::optional<std::int64_t> run_time, std::size_t batch_size,
                          std::size_t most);

// The average run time after one more run: the latest counts an eighth.
std::int64_t average_run_time(std::optional<std::int64_t> before, std::int64_t latest);

}  // namespace hipq::core
