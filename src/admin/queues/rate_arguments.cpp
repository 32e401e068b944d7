// Reads rates and their modes, and breakers.
#include "admin/queues/rate_arguments.hpp"

#include "core/job/validate.hpp"
#include "core/limits/rate_text.hpp"
#include "pg/demand.hpp"
#include "pg/internal_write.hpp"

namespace hipq::admin {

namespace {

// create_shard() locks the row, too, before it looks for rates and breakers.
constinit pg::Statement lock_instance_of_queue(R"(
    SELECT
    FROM hipq.queue AS queue
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE queue.queue_id = $1
    FOR KEY SHARE OF instance)");
constinit pg::Statement select_sharded_queue(R"(
    SELECT instance.name || '.' || queue.name
    FROM hipq.queue AS queue
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE queue.queue_id = $1 AND EXISTS (SELECT FROM hipq.shard_map AS map WHERE map.instance_id = queue.instance_id))");

// Nothing: all jobs of the queue are on this server.
std::optional<std::string> name_if_sharded(int queue_id)
{
    const pg::Rows rows = pg::as_hipq([&] {
        (void)lock_instance_of_queue.run(queue_id);
        return select_sharded_queue.run_latest(queue_id);
    });
    return rows.empty() ? std::nullopt : std::optional(rows.front().text(0));
}

}  // namespace

std::optional<std::string> read_rate(const pg::Arguments &arguments)
{
    const pg::Argument mode_argument = pg::Argument::later("rate_mode");
    if (const auto mode = arguments.maybe_text(mode_argument);
        mode.has_value() && !core::parse_rate_mode(*mode).has_value())
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("unknown rate_mode \"%s\"", mode->c_str()),
                   errhint("It is exact or smooth."));
    const auto rate = arguments.maybe_text(pg::Argument::later("rate_limit"));
    return rate.has_value() ? std::optional(pg::canonical_rate(*rate)) : std::nullopt;
}

std::optional<std::string> read_rate_per_key(const pg::Arguments &arguments)
{
    const auto rate = arguments.maybe_text(pg::Argument::later("rate_limit_per_key"));
    return rate.has_value() ? std::optional(pg::canonical_rate(*rate)) : std::nullopt;
}

std::optional<std::string> read_breaker(const pg::Arguments &arguments)
{
    const auto breaker = arguments.maybe_text(pg::Argument::later("breaker"));
    return breaker.has_value() ? std::optional(pg::canonical_breaker(*breaker)) : std::nullopt;
}

void demand_one_server(const std::optional<std::string> &rate, int queue_id)
{
    if (!rate.has_value() || *rate == core::none_text)
        return;
    const auto name = name_if_sharded(queue_id);
    if (!name.has_value())
        return;
    HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
               errmsg("queues of an instance with shards cannot have a rate_limit"),
               errdetail("Queue \"%s\" is in such an instance: each server would keep the rate by "
                         "itself.",
                         name->c_str()),
               errhint("Use throttle_limit, which the servers keep together."));
}

void demand_one_server_for_breaker(int queue_id)
{
    const auto name = name_if_sharded(queue_id);
    if (!name.has_value())
        return;
    HIPQ_RAISE(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
               errmsg("job types of an instance with shards cannot have a breaker"),
               errdetail("Queue \"%s\" is in such an instance: each server would have a breaker of "
                         "its own.",
                         name->c_str()),
               errhint("Use hipq.pause(), which the servers heed together."));
}

}  // namespace hipq::admin
