// Implements the names of duties, and how long they rest.
#include "core/process/duty.hpp"

#include <algorithm>

namespace hipq::core {

namespace {

constexpr std::int64_t rest_from_lock = 500'000;
constexpr std::int64_t first_rest = 1'000'000;
constexpr std::int64_t longest_rest = 60'000'000;

}  // namespace

std::string_view name(Duty duty)
{
    switch (duty) {
    case Duty::line:
        return "look for due jobs";
    case Duty::expiry:
        return "expire jobs";
    case Duty::waits:
        return "look at jobs that wait for others";
    case Duty::worker_wait:
        return "give up jobs that no worker takes";
    case Duty::dispatch:
        return "give jobs to workers";
    case Duty::reclaim:
        return "take jobs back from workers";
    case Duty::recovery:
        return "recover jobs";
    case Duty::audit:
        return "audit waiting jobs";
    case Duty::vacuum:
        return "look after dead rows";
    case Duty::stall_watch:
        return "watch for jobs that do not start";
    case Duty::leaves:
        return "make and drop leaves";
    case Duty::dead_letters:
        return "prune dead letters";
    case Duty::made_jobs:
        return "forget jobs of handlers";
    case Duty::unused_types:
        return "forget unused job types";
    case Duty::drop:
        return "drop tables";
    case Duty::schedules:
        return "mend pg_cron's jobs of schedules";
    case Duty::pauses:
        return "end pauses whose time is over";
    case Duty::runs:
        return "run schedules";
    case Duty::slots:
        return "send the jobs of slots that have left";
    case Duty::figures:
        return "send figures of queues to the router";
    case Duty::shares:
        return "keep the shares of limits";
    case Duty::letters:
        return "take what other nodes send";
    case Duty::breakers:
        return "save the state of breakers";
    }
    return "";
}

std::int64_t rest_after(Trouble trouble, int in_a_row)
{
    if (trouble == Trouble::locked)
        return rest_from_lock;
    constexpr int most_doublings = 6;
    return std::min(first_rest << std::clamp(in_a_row - 1, 0, most_doublings), longest_rest);
}

}  // namespace hipq::core
