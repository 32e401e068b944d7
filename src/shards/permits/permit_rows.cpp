// Reads and writes shares and records.
#include "shards/permits/permit_rows.hpp"

#include "core/shards/ids.hpp"
#include "pg/internal_write.hpp"

namespace hipq::shards {

namespace {

// ---- shares ----

// Growing numbers begin with the time, because rows come and go, and databases are restored from
// dumps: a node that knows earlier numbers must not take the new ones for older.
#define HIPQ_CLOCK "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

// A promoted standby is on another timeline than the rows that were written before.
#define HIPQ_TIMELINE                                                                              \
    "('x' || left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()), "            \
    "8))::bit(32)::integer"

constinit pg::Statement insert_share(R"(
    INSERT INTO hipq.permit_share (queue_id, job_type, throttle_key, epoch, serial, timeline)
    VALUES ($1, $2, $3, $4, )" HIPQ_CLOCK R"(, )" HIPQ_TIMELINE
                                     R"()
    ON CONFLICT DO NOTHING)");
constinit pg::Statement select_share(R"(
    SELECT share.epoch, share.serial, share.is_waiting, share.must_ask, share.share, share.has_all, share.target,
           share.weight_limit, share.asked_want, share.asked_unit, share.timeline = )" HIPQ_TIMELINE
                                     R"(
    FROM hipq.permit_share AS share
    WHERE share.queue_id = $1 AND share.job_type = $2 AND share.throttle_key = $3
    FOR UPDATE)");
constinit pg::Statement delete_share_row(R"(
    DELETE FROM hipq.permit_share AS share
    WHERE share.queue_id = $1 AND share.job_type = $2 AND share.throttle_key = $3)");
constinit pg::Statement select_share_keys(R"(
    SELECT share.queue_id, share.job_type, share.throttle_key
    FROM hipq.permit_share AS share
    WHERE share.throttle_key <> 0)");
constinit pg::Statement update_share(R"(
    UPDATE hipq.permit_share AS share
    SET epoch = $4, serial = $5, is_waiting = $6, must_ask = $7, share = $8, has_all = $9, target = $10,
        weight_limit = $11, asked_want = $12, asked_unit = $13, timeline = )" HIPQ_TIMELINE R"(
    WHERE share.queue_id = $1 AND share.job_type = $2 AND share.throttle_key = $3)");

core::PermitShare read_share(const pg::Row &row)
{
    core::PermitShare share{.epoch = row.integer(0),
                            .serial = row.integer(1),
                            .is_waiting = row.boolean(2),
                            .must_ask = row.boolean(3),
                            .share = row.integer(4),
                            .has_all = row.boolean(5),
                            .target = row.integer(6),
                            .limit = row.integer(7),
                            .asked_want = row.integer(8),
                            .asked_unit = row.integer(9)};
    if (!row.boolean(10))
        core::forget_share(share, 0);  // what still runs is added when it asks
    return share;
}

// ---- the router's records ----

constinit pg::Statement select_epoch("SELECT greatest(" HIPQ_CLOCK ", $1 + 1)");
constinit pg::Statement insert_authority(R"(
    INSERT INTO hipq.permit_authority (queue_id, job_type, throttle_key, epoch, weight_limit, timeline)
    VALUES ($1, $2, $3, $4, $5, )" HIPQ_TIMELINE R"()
    ON CONFLICT DO NOTHING)");
constinit pg::Statement update_epoch(R"(
    UPDATE hipq.permit_authority AS authority
    SET epoch = $4, turn = 0, timeline = )" HIPQ_TIMELINE R"(
    WHERE authority.queue_id = $1 AND authority.job_type = $2 AND authority.throttle_key = $3)");
constinit pg::Statement delete_authority_row(R"(
    DELETE FROM hipq.permit_authority AS authority
    WHERE authority.queue_id = $1 AND authority.job_type = $2 AND authority.throttle_key = $3)");
constinit pg::Statement select_awaited_keys(R"(
    SELECT DISTINCT record.queue_id, record.job_type, record.throttle_key
    FROM hipq.permit_record AS record
    WHERE record.throttle_key <> 0 AND (record.unit > 0 OR record.want > record.share))");
constinit pg::Statement select_keys(R"(
    SELECT authority.queue_id, authority.job_type, authority.throttle_key
    FROM hipq.permit_authority AS authority
    WHERE authority.throttle_key <> 0)");
constinit pg::Statement select_authority(R"(
    SELECT authority.epoch, authority.weight_limit, authority.turn, authority.timeline = )" HIPQ_TIMELINE
                                         R"(
    FROM hipq.permit_authority AS authority
    WHERE authority.queue_id = $1 AND authority.job_type = $2 AND authority.throttle_key = $3
    FOR UPDATE)");
constinit pg::Statement update_authority(R"(
    UPDATE hipq.permit_authority AS authority
    SET weight_limit = $4, turn = $5
    WHERE authority.queue_id = $1 AND authority.job_type = $2 AND authority.throttle_key = $3)");
constinit pg::Statement select_records(R"(
    SELECT record.node, record.is_heard, record.serial, record.share, record.has_all, record.want,
           record.unit, record.told_target,
           record.heard_time NOT BETWEEN clock_timestamp() - interval '10 s' AND clock_timestamp() AND (record.want > record.share OR record.unit > 0)
    FROM hipq.permit_record AS record
    WHERE record.queue_id = $1 AND record.job_type = $2 AND record.throttle_key = $3
    ORDER BY record.node)");
constinit pg::Statement upsert_record(R"(
    INSERT INTO hipq.permit_record AS record (queue_id, job_type, throttle_key, node, is_heard, serial, share, has_all, want, unit, told_target)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    ON CONFLICT ON CONSTRAINT permit_record_pkey DO UPDATE
    SET is_heard = $5, serial = $6, share = $7, has_all = $8, want = $9, unit = $10, told_target = $11,
        heard_time = CASE WHEN record.serial = $6 THEN record.heard_time ELSE clock_timestamp() END)");
constinit pg::Statement delete_record(R"(
    DELETE FROM hipq.permit_record AS record
    WHERE record.queue_id = $1 AND record.job_type = $2 AND record.throttle_key = $3 AND record.node = $4)");
constinit pg::Statement delete_records(R"(
    DELETE FROM hipq.permit_record AS record
    WHERE record.queue_id = $1 AND record.job_type = $2 AND record.throttle_key = $3)");

void store_record(const LimitKey &key, const core::PermitRecord &record)
{
    upsert_record.run(key.queue_id, key.job_type, key.throttle_key,
                      static_cast<std::int16_t>(record.node), record.is_heard, record.serial,
                      record.share, record.has_all, record.want, record.unit, record.told_target);
}

const core::PermitRecord *find(const core::PermitAuthority &authority, int node)
{
    const auto found =
        std::ranges::find(authority.records, node, [](const auto &each) { return each.node; });
    return found == authority.records.end() ? nullptr : &*found;
}

// ---- all limits ----

constinit pg::Statement select_nodes(R"(
    SELECT shard.node
    FROM hipq.shard
    WHERE shard.instance_id = $1 AND shard.state <> 'joining'
    ORDER BY shard.node)");

// $1, $2: the limits that are shared; $3: whether the limit applies to each throttle key.
#define HIPQ_IS_NO_LIMIT(row)                                                                      \
    "NOT EXISTS (SELECT FROM unnest($1, $2, $3) AS known (queue_id, job_type, is_per_key) WHERE "  \
    "known.queue_id = " #row ".queue_id AND known.job_type = " #row                                \
    ".job_type AND (known.is_per_key = 1) = (" #row ".throttle_key <> 0))"
constinit pg::Statement delete_shares(R"(
    DELETE FROM hipq.permit_share AS share
    WHERE NOT EXISTS (SELECT FROM hipq.queue WHERE queue.queue_id = share.queue_id))");
constinit pg::Statement empty_shares(R"(
    UPDATE hipq.permit_share AS share
    SET share = 0, target = 0, has_all = false, must_ask = true
    WHERE (share.share > 0 OR share.target > 0) AND )" HIPQ_IS_NO_LIMIT(share));
constinit pg::Statement delete_authorities(
    "DELETE FROM hipq.permit_authority AS authority WHERE " HIPQ_IS_NO_LIMIT(authority));
constinit pg::Statement
    delete_all_records("DELETE FROM hipq.permit_record AS record WHERE " HIPQ_IS_NO_LIMIT(record));

std::vector<LimitKey> read_keys(pg::Statement &statement)
{
    std::vector<LimitKey> keys;
    for (const pg::Row row : pg::as_hipq([&] { return statement.run(); }))
        keys.push_back({row.integer32(0), row.text(1), row.integer(2)});
    return keys;
}

}  // namespace

std::optional<core::PermitShare> lock_share(const LimitKey &key)
{
    const pg::Rows rows =
        pg::as_hipq([&] { return select_share.run(key.queue_id, key.job_type, key.throttle_key); });
    return rows.empty() ? std::nullopt : std::optional(read_share(rows.front()));
}

core::PermitShare lock_or_make_share(const LimitKey &key)
{
    if (const auto share = lock_share(key))
        return *share;
    pg::as_hipq([&] {
        insert_share.run(key.queue_id, key.job_type, key.throttle_key,
                         key.is_of_throttle_key() ? epoch_of_throttle_keys : 0);
    });
    return lock_share(key).value();
}

void delete_share(const LimitKey &key)
{
    pg::as_hipq([&] { delete_share_row.run(key.queue_id, key.job_type, key.throttle_key); });
}

std::vector<LimitKey> keys_of_shares()
{
    return read_keys(select_share_keys);
}

void store_share(const LimitKey &key, const core::PermitShare &share)
{
    pg::as_hipq([&] {
        update_share.run(key.queue_id, key.job_type, key.throttle_key, share.epoch, share.serial,
                         share.is_waiting, share.must_ask, share.share, share.has_all, share.target,
                         share.limit, share.asked_want, share.asked_unit);
    });
}

std::optional<StoredAuthority> lock_authority(const LimitKey &key)
{
    return pg::as_hipq([&]() -> std::optional<StoredAuthority> {
        const pg::Rows rows = select_authority.run(key.queue_id, key.job_type, key.throttle_key);
        if (rows.empty())
            return std::nullopt;
        const pg::Row row = rows.front();
        StoredAuthority stored{{row.integer(0),
                                row.integer(1),
                                static_cast<std::size_t>(std::max(row.integer32(2), 0)),
                                {}},
                               {},
                               row.boolean(3)};
        for (const pg::Row each :
             select_records.run(key.queue_id, key.job_type, key.throttle_key)) {
            stored.authority.records.push_back({.node = each.integer32(0),
                                                .is_heard = each.boolean(1),
                                                .serial = each.integer(2),
                                                .share = each.integer(3),
                                                .has_all = each.boolean(4),
                                                .want = each.integer(5),
                                                .unit = each.integer(6),
                                                .told_target = each.integer(7)});
            if (each.boolean(8))
                stored.silent.push_back(each.integer32(0));
        }
        if (stored.authority.turn >= stored.authority.records.size())
            stored.authority.turn = 0;
        return stored;
    });
}

void store_authority(const LimitKey &key, const core::PermitAuthority &before,
                     const core::PermitAuthority &after)
{
    pg::as_hipq([&] {
        if (before.limit != after.limit || before.turn != after.turn)
            update_authority.run(key.queue_id, key.job_type, key.throttle_key, after.limit,
                                 static_cast<std::int32_t>(after.turn));
        for (const core::PermitRecord &record : before.records)
            if (find(after, record.node) == nullptr)
                delete_record.run(key.queue_id, key.job_type, key.throttle_key,
                                  static_cast<std::int16_t>(record.node));
        for (const core::PermitRecord &record : after.records)
            if (const auto *known = find(before, record.node);
                known == nullptr || !(*known == record))
                store_record(key, record);
    });
}

void make_authority(const LimitKey &key, std::int64_t epoch, core::Weight limit)
{
    pg::as_hipq(
        [&] { insert_authority.run(key.queue_id, key.job_type, key.throttle_key, epoch, limit); });
}

void restart_authority(const LimitKey &key, std::int64_t epoch)
{
    pg::as_hipq([&] {
        update_epoch.run(key.queue_id, key.job_type, key.throttle_key, epoch);
        delete_records.run(key.queue_id, key.job_type, key.throttle_key);
    });
}

void delete_authority(const LimitKey &key)
{
    pg::as_hipq([&] {
        delete_records.run(key.queue_id, key.job_type, key.throttle_key);
        delete_authority_row.run(key.queue_id, key.job_type, key.throttle_key);
    });
}

std::vector<LimitKey> keys_of_authorities(bool is_awaited)
{
    return read_keys(is_awaited ? select_awaited_keys : select_keys);
}

std::int64_t next_epoch(std::int64_t known)
{
    return pg::as_hipq([&] { return select_epoch.run(known).front().integer(0); });
}

std::vector<int> nodes_of(int instance_id)
{
    std::vector<int> nodes{core::router_node};
    for (const pg::Row row : pg::as_hipq([&] { return select_nodes.run(instance_id); }))
        nodes.push_back(row.integer32(0));
    return nodes;
}

void forget_other_limits(const SharedLimits &limits)
{
    std::vector<std::int64_t> queues;
    std::vector<std::string> types;
    std::vector<std::int64_t> are_per_key;
    for (const auto *kind : {&limits.whole, &limits.per_key})
        for (const SharedLimit &limit : *kind) {
            queues.push_back(limit.key.queue_id);
            types.push_back(limit.key.job_type);
            are_per_key.push_back(kind == &limits.per_key ? 1 : 0);
        }
    pg::as_hipq([&] {
        delete_shares.run();
        for (pg::Statement *step : {&empty_shares, &delete_authorities, &delete_all_records})
            step->run(queues, types, are_per_key);
    });
}

}  // namespace hipq::shards
