// Implements the rules of claiming.
#include "core/lanes/claiming.hpp"

#include <algorithm>

namespace hipq::core {

std::optional<ClaimRule> parse_claim_rule(std::string_view text)
{
    if (text == "auto")
        return ClaimRule::automatic;
    if (text == "lock")
        return ClaimRule::lock;
    if (text == "record")
        return ClaimRule::record;
    return std::nullopt;
}

ClaimMode claim_mode(ClaimRule rule, bool handler_may_commit, std::optional<std::int64_t> run_time)
{
    if (handler_may_commit || rule == ClaimRule::record)
        return ClaimMode::record;
    if (rule == ClaimRule::lock)
        return ClaimMode::lock;
    return run_time.has_value() && *run_time < long_run_time ? ClaimMode::lock : ClaimMode::record;
}

std::size_t prefetch_size(std::optional<std::int64_t> run_time, std::size_t batch_size,
                          std::size_t most)
{
    const std::size_t least = std::clamp<std::size_t>(batch_size, 1, most);
    if (!run_time.has_value())
        return least;
    const auto fitting =
        static_cast<std::size_t>(prefetched_work / std::max<std::int64_t>(*run_time, 1));
    const std::size_t bounded = std::clamp(fitting, least, most);
    return bounded - bounded % least;
}

std::int64_t average_run_time(std::optional<std::int64_t> before, std::int64_t latest)
{
    const std::int64_t run = std::max<std::int64_t>(latest, 1);
    return before.has_value() ? std::max<std::int64_t>(*before + (run - *before) / 8, 1) : run;
}

}  // namespace hipq::core
