// Sends a letter that says nothing, eight times while one is kept, and once when the scheduler
// starts.
#include "alive.hpp"

#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "process/process.hpp"
#include "settings.hpp"

namespace hipq::shards {

namespace {

constinit pg::Statement insert_letters(R"(
    INSERT INTO hipq.shard_outbox (instance, sender, node, kind)
    SELECT instance.name, map.own_node, other.node, 'alive'
    FROM hipq.shard_map AS map
    JOIN hipq.instance AS instance USING (instance_id)
    CROSS JOIN LATERAL (
        SELECT shard.node FROM hipq.shard AS shard WHERE map.own_node = 0 AND shard.instance_id = map.instance_id
        UNION ALL
        SELECT 0 WHERE map.own_node > 0
    ) AS other
    WHERE hipq._is_own_timeline(map.timeline))");

constinit pg::Time next_sign{0};

}  // namespace

pg::Time show_life(const catalog::Catalogue &catalogue)
{
    const bool is_node = std::ranges::any_of(
        catalogue.queues, [](const auto &entry) { return entry.second.shards != nullptr; });
    if (!is_node)
        return pg::infinity;
    const pg::Time now = pg::now();
    const std::int64_t interval = settings::outbox_keep.microseconds() / 8;
    if (next_sign <= now || next_sign > now + interval) {  // or the clock was set back
        next_sign = now + interval;
        process::do_duty(core::Duty::slots, nullptr, [] {
            pg::with_transaction([] { pg::as_hipq([] { insert_letters.run(); }); });
        });
    }
    return next_sign;
}

}  // namespace hipq::shards
