// Names the conditions that a job must pass before it starts.
#include "core/limits/finding.hpp"

namespace hipq::core {

std::string_view name(ConditionKind kind)
{
    // In the order of ConditionKind.
    static constexpr std::array<std::string_view, 28> names{"exists",
                                                            "state",
                                                            "set aside",
                                                            "waits for",
                                                            "scheduled time",
                                                            "time window",
                                                            "expiry",
                                                            "loaded",
                                                            "version",
                                                            "enabled",
                                                            "hold",
                                                            "replica",
                                                            "queue",
                                                            "pause",
                                                            "queue owner",
                                                            "handler",
                                                            "crash",
                                                            "throttle",
                                                            "throttle of queue",
                                                            "throttle of type",
                                                            "throttle of key",
                                                            "rate of queue",
                                                            "rate of type",
                                                            "rate of key",
                                                            "breaker",
                                                            "executor",
                                                            "worker",
                                                            "lane"};
    static_assert(names.size() == static_cast<std::size_t>(ConditionKind::lane) + 1);
    return names[static_cast<std::size_t>(kind)];
}

}  // namespace hipq::core
