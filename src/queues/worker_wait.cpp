// Stores how long jobs of a queue wait for a worker, in a statement of its own: tables and
// functions of 0.2.0 do not have it.
#include "queues/worker_wait.hpp"

#include "pg/internal_write.hpp"

namespace hipq::queues {

namespace {

constexpr const char *worker_wait_name = "worker_wait_ttl";

constinit pg::Statement
    update_worker_wait("UPDATE hipq.queue SET worker_wait_ttl = $2 WHERE queue_id = $1");

}  // namespace

std::vector<Resettable> with_worker_wait(std::span<const Resettable> others,
                                         const pg::Arguments &arguments, int position)
{
    std::vector<Resettable> all(others.begin(), others.end());
    if (arguments.takes(position))
        all.push_back({worker_wait_name, position});
    return all;
}

void set_worker_wait(int queue_id, const pg::Arguments &arguments, int position,
                     const std::vector<std::string> &to_reset)
{
    if (!arguments.takes(position))
        return;
    const auto wait = arguments.maybe_seconds(position, 0);
    const bool is_reset =
        std::find(to_reset.begin(), to_reset.end(), worker_wait_name) != to_reset.end();
    if (wait.has_value() || is_reset)
        pg::as_hipq([&] { update_worker_wait.run(queue_id, wait); });
}

}  // namespace hipq::queues
