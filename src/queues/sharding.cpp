// Reads and stores how the jobs of a queue are divided in a sharded instance.
#include "queues/sharding.hpp"

#include "core/job/validate.hpp"
#include "core/shards/shard_key.hpp"
#include "pg/internal_write.hpp"

namespace hipq::queues {

namespace {

constinit pg::Statement
    update_shard_key("UPDATE hipq.queue SET shard_key = $2 WHERE queue_id = $1");
constinit pg::Statement reset_shard_key(R"(
    UPDATE hipq.queue AS queue
    SET shard_key = coalesce($2, instance.shard_key)
    FROM hipq.instance AS instance
    WHERE queue.queue_id = $1 AND instance.instance_id = queue.instance_id)");

constinit pg::Statement
    update_throttle_mode("UPDATE hipq.queue SET throttle_mode = $2 WHERE queue_id = $1");
constinit pg::Statement
    update_move_order("UPDATE hipq.queue SET move_order = $2 WHERE queue_id = $1");

}  // namespace

void check_shard_key(const std::string &text)
{
    if (text == core::none_text || core::parse_shard_key(text).has_value())
        return;
    HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
               errmsg("shard_key \"%s\" is neither a column nor a path", text.c_str()),
               errhint("Give shard_key, job_key, throttle_key or job_type, or a path such as "
                       "job_data->>'tenant' or job_data#>>'{customer,id}'."));
}

std::optional<std::string> read_shard_key(const pg::Arguments &arguments, int position)
{
    if (arguments.count() <= position)
        return std::nullopt;
    auto shard_key = arguments.maybe_text(position);
    if (shard_key.has_value())
        check_shard_key(*shard_key);
    return shard_key;
}

void set_shard_key(int queue_id, const std::optional<std::string> &shard_key)
{
    if (shard_key.has_value())
        pg::as_hipq([&] { update_shard_key.run(queue_id, *shard_key); });
}

void set_or_reset_shard_key(int queue_id, const std::optional<std::string> &shard_key)
{
    pg::as_hipq([&] { reset_shard_key.run(queue_id, shard_key); });
}

namespace {

std::optional<std::string> read_mode(const pg::Arguments &arguments, int position, const char *name,
                                     std::array<const char *, 2> words)
{
    if (arguments.count() <= position)
        return std::nullopt;
    auto mode = arguments.maybe_text(position);
    if (mode.has_value() && *mode != words[0] && *mode != words[1])
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("unknown %s \"%s\"", name, mode->c_str()),
                   errhint("It is %s or %s.", words[0], words[1]));
    return mode;
}

void set_mode(pg::Statement &update, int queue_id, const std::optional<std::string> &mode)
{
    if (mode.has_value())
        pg::as_hipq([&] { update.run(queue_id, *mode); });
}

}  // namespace

void set_modes(int queue_id, const pg::Arguments &arguments, int position)
{
    const auto throttle_mode = read_mode(arguments, position, "throttle_mode", {"home", "shared"});
    const auto move_order = read_mode(arguments, position + 1, "move_order", {"key", "strict"});
    set_mode(update_throttle_mode, queue_id, throttle_mode);
    set_mode(update_move_order, queue_id, move_order);
}

void tell_of_shards(const catalog::Queue &queue, const std::string &what, const std::string &call)
{
    if (queue.shards == nullptr || queue.shards->own_node != core::router_node)
        return;
    pg::call([&] {
        ereport(NOTICE,
                errmsg("%s stays on the shards of instance \"%s\"", what.c_str(),
                       queue.instance.c_str()),
                errhint("Run SELECT %s on each of them, when its jobs there have ended.",
                        call.c_str()));
    });
}

}  // namespace hipq::queues
