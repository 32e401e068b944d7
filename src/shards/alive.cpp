// Sends signs of life, and finds out from those of other nodes what this node has forgotten.
//
// A sign follows soon after any work that gives ids or sends letters. One is sent when another
// server begins to read here, because it may have come back from an earlier state of its disk. And
// eight are sent in the time for which a sign is kept.
#include "shards/alive.hpp"

#include "catalog/cache.hpp"
#include "catalog/timeline.hpp"
#include "core/shards/signs.hpp"
#include "pg/clock.hpp"
#include "pg/internal_write.hpp"
#include "process/process.hpp"
#include "settings.hpp"
#include "shared/databases/database_slots.hpp"
#include "shared/databases/own_slot.hpp"
#include "shared/memory/registry.hpp"
#include "shared/wakeup/commit.hpp"

namespace hipq::shards {

namespace {

// ---- sending ----

constexpr std::int64_t reader_interval = 1'000'000;  // us, between two signs caused by readers

#define HIPQ_NAME_OF(id, time)                                                                     \
    "CASE WHEN " id " > 0 THEN jsonb_build_array(" id ", (extract(epoch FROM " time                \
    ") * 1000000)::bigint) END"

// Only a letter that goes through a slot is sure to arrive, so only then is it a sign by which
// others judge. A letter without one still says that nothing is missing before it
// (resync/kept_letters.hpp).
constinit pg::Statement insert_signs(R"(
    WITH other AS MATERIALIZED (
        SELECT map.instance_id, instance.name, map.own_node, known.node,
               EXISTS (SELECT FROM pg_catalog.pg_replication_slots AS slot WHERE slot.slot_name = known.slot AND slot.confirmed_flush_lsn IS NOT NULL) AS is_kept
        FROM hipq.shard_map AS map
        JOIN hipq.instance AS instance USING (instance_id)
        CROSS JOIN LATERAL (
            SELECT shard.node, shard.channel || '_to_' || shard.node
            FROM hipq.shard AS shard
            WHERE map.own_node = 0 AND shard.instance_id = map.instance_id
            UNION ALL
            SELECT 0, 'hipq_' || left(map.cluster::text, 8) || '_from_' || map.own_node WHERE map.own_node > 0
        ) AS known (node, slot)
        WHERE hipq._is_own_timeline(map.timeline)
    ),
    sent AS (
        INSERT INTO hipq.shard_outbox (instance, sender, node, kind, body)
        SELECT other.name, other.own_node, other.node, 'alive',
               CASE WHEN other.is_kept THEN jsonb_build_object(
                   'before', (SELECT )" HIPQ_NAME_OF("sign.id", "sign.sent_time") R"(
                              FROM hipq.shard_sign AS sign
                              WHERE sign.instance_id = other.instance_id AND sign.node = other.node
                              ORDER BY sign.id DESC
                              LIMIT 1),
                   'heard', )" HIPQ_NAME_OF("neighbour.heard_id", "neighbour.heard_time") R"()
               END
        FROM other
        LEFT JOIN hipq.shard_neighbour AS neighbour USING (instance_id, node)
        RETURNING instance, node, id, sent_time, body
    ),
    noted AS (
        INSERT INTO hipq.shard_sign (instance_id, node, id, sent_time)
        SELECT other.instance_id, other.node, sent.id, sent.sent_time
        FROM sent
        JOIN other ON other.name = sent.instance AND other.node = sent.node
        WHERE sent.body IS NOT NULL
    )
    SELECT count(*) FROM sent)");

// Removes signs that a node which is down has not read, except the newest one. It may still name
// them.
constinit pg::Statement prune_signs(R"(
    WITH gone AS (
        DELETE FROM hipq.shard_sign AS sign
        WHERE sign.sent_time < $1
          AND EXISTS (SELECT FROM hipq.shard_sign AS newer WHERE newer.instance_id = sign.instance_id AND newer.node = sign.node AND newer.id > sign.id)
        RETURNING sign.instance_id, sign.node, sign.id
    )
    INSERT INTO hipq.shard_neighbour AS neighbour (instance_id, node, signs_from)
    SELECT gone.instance_id, gone.node, max(gone.id) + 1 FROM gone GROUP BY gone.instance_id, gone.node
    ON CONFLICT ON CONSTRAINT shard_neighbour_pkey DO UPDATE
    SET signs_from = greatest(neighbour.signs_from, excluded.signs_from))");

constinit pg::Statement select_numbers(R"(
    SELECT job.last_value, outbox.last_value
    FROM hipq.job_id_seq AS job
    CROSS JOIN hipq.shard_outbox_id_seq AS outbox)");

// Returns whether other nodes have to hear of later work, now or in a while.
bool is_news(const memory::SentSigns &signs)
{
    bool has_more = signs.was_news;
    if (!has_more)
        pg::with_transaction([&] {
            pg::as_hipq([&] { has_more = last_numbers() != Numbers{signs.job, signs.letter}; });
        });
    return has_more;
}

// Returns false if the signs were not sent to other nodes; a later look tries again.
bool send_signs(memory::SentSigns &signs, pg::Time now, unsigned readers)
{
    const std::int64_t kept = settings::outbox_keep.microseconds();
    bool is_done = false;
    process::do_duty(core::Duty::slots, nullptr, [&] {
        pg::with_transaction([&] {
            pg::as_hipq([&] {
                const Numbers before = last_numbers();
                const std::int64_t sent = insert_signs.run().front().integer(0);
                prune_signs.run(now + -kept);
                signs.was_news = before != Numbers{signs.job, signs.letter};
                signs.job = before.job;
                signs.letter = before.letter + sent;
            });
        });
        is_done = true;
    });
    if (!is_done)
        return false;
    signs.readers = readers;
    signs.last = now;
    signs.next = now + kept / 8;
    databases::note_sent_signs(signs);
    return true;
}

// ---- receiving ----

constinit pg::Statement select_facts(R"(
    SELECT map.instance_id, coalesce(neighbour.heard_id, 0), coalesce(neighbour.signs_from, 0), told.before_id, told.heard_id, told.heard_time,
           EXISTS (
               SELECT
               FROM hipq.shard_sign AS sign
               WHERE sign.instance_id = map.instance_id AND sign.node = $2 AND sign.id = told.heard_id
                 AND (extract(epoch FROM sign.sent_time) * 1000000)::bigint = told.heard_time)
    FROM hipq.shard_map AS map
    JOIN hipq.instance AS instance USING (instance_id)
    LEFT JOIN hipq.shard_neighbour AS neighbour ON neighbour.instance_id = map.instance_id AND neighbour.node = $2
    CROSS JOIN LATERAL (
        SELECT jsonb_path_query_first($3, '$.before[0] ? (@ > 0 && @ < 9000000000000000000)')::bigint,
               jsonb_path_query_first($3, '$.heard[0] ? (@ > 0 && @ < 9000000000000000000)')::bigint,
               jsonb_path_query_first($3, '$.heard[1] ? (@ > 0 && @ < 9000000000000000000)')::bigint
    ) AS told (before_id, heard_id, heard_time)
    WHERE instance.name = $1)");

// $5: this sign shows that nothing is missing. That is certain for letters up to the sign before
// it, not for later ones: after a disk was put back, a sign may arrive that was sent before and had
// not been confirmed, although what was sent just before it had been.
constinit pg::Statement note_heard(R"(
    INSERT INTO hipq.shard_neighbour AS neighbour (instance_id, node, heard_id, heard_time, whole_id)
    VALUES ($1, $2, $3, $4, 0)
    ON CONFLICT ON CONSTRAINT shard_neighbour_pkey DO UPDATE
    SET heard_id = excluded.heard_id, heard_time = excluded.heard_time,
        whole_id = CASE WHEN $5 THEN neighbour.heard_id ELSE neighbour.whole_id END
    WHERE neighbour.heard_id < excluded.heard_id)");

// The other node will not name signs older than one that it has received.
constinit pg::Statement forget_older_signs(R"(
    WITH gone AS (
        DELETE FROM hipq.shard_sign AS sign
        WHERE sign.instance_id = $1 AND sign.node = $2 AND sign.id < $3
    )
    UPDATE hipq.shard_neighbour AS neighbour
    SET signs_from = $3
    WHERE neighbour.instance_id = $1 AND neighbour.node = $2 AND neighbour.signs_from < $3)");

constinit pg::Statement
    note_forgotten("UPDATE hipq.shard_map AS map SET timeline = $2 WHERE map.instance_id = $1");

constinit pg::Statement forget_signs_of_node(R"(
    WITH gone AS (
        DELETE FROM hipq.shard_sign AS sign WHERE sign.instance_id = $1 AND sign.node = $2
    )
    INSERT INTO hipq.shard_neighbour AS neighbour (instance_id, node, signs_from)
    VALUES ($1, $2, $3)
    ON CONFLICT ON CONSTRAINT shard_neighbour_pkey DO UPDATE
    SET signs_from = excluded.signs_from, whole_id = neighbour.heard_id)");

std::string what_is_known(const Letter &letter, core::Forgotten forgotten,
                          const core::SignLetter &told)
{
    const std::string other = "node " + std::to_string(letter.sender);
    if (forgotten == core::Forgotten::what_it_sent)
        return other + " has its letter " + std::to_string(told.heard->id) +
               ", which it does not know";
    return other + " had sent it letter " + std::to_string(told.before->id) +
           ", which it has not got";
}

// Ends all work of this node for the instance, as after a promotion; resync_shard() repairs both.
void stop(const Letter &letter, int instance_id, const std::string &known)
{
    note_forgotten.run(instance_id, catalog::forgotten_timeline(known));
    pg::call([&] {
        ereport(
            LOG, errhidestmt(true),
            errmsg("this server, node %d of instance \"%s\", has forgotten what it did last",
                   letter.node, letter.instance.c_str()),
            errdetail("As it is when its disk is put back to an earlier state: %s.", known.c_str()),
            errhint("On the router: CALL hipq.resync_shard('%s', %d).", letter.instance.c_str(),
                    letter.node));
    });
}

std::optional<core::Sign> sign_of(const pg::Row &row, int id, int time)
{
    return row.null(id)
               ? std::nullopt
               : std::optional(core::Sign{row.integer(id), row.null(time) ? 0 : row.integer(time)});
}

}  // namespace

Numbers last_numbers()
{
    const pg::Row row = select_numbers.run().front();
    return {row.integer(0), row.integer(1)};
}

pg::Time show_life(const catalog::Catalogue &catalogue)
{
    const bool is_node = std::ranges::any_of(
        catalogue.queues, [](const auto &entry) { return entry.second.shards != nullptr; });
    if (!is_node)
        return pg::infinity;
    const pg::Time now = pg::now();
    const std::int64_t longest = settings::outbox_keep.microseconds() / 8;
    const unsigned readers = databases::count_readers();
    memory::SentSigns signs = databases::sent_signs();
    if (signs.last > now || signs.next > now + longest)  // the clock was set back
        signs = memory::SentSigns{};
    // A node that cannot take what arrives connects again and again.
    const pg::Time next_for_reader =
        readers != signs.readers ? signs.last + reader_interval : pg::infinity;
    const pg::Time next_for_news =
        is_news(signs) ? signs.last + wakeup::sign_interval : pg::infinity;
    const pg::Time next = std::min({signs.next, next_for_reader, next_for_news});
    if (next > now)
        return next;
    if (!send_signs(signs, now, readers))
        return now + reader_interval;
    return signs.was_news ? now + wakeup::sign_interval : signs.next;
}

void take_sign(const Letter &letter)
{
    if (letter.body.null)
        return;
    pg::as_hipq([&] {
        const auto sender = static_cast<std::int16_t>(letter.sender);
        const pg::Row row = select_facts.run(letter.instance, sender, letter.body).front();
        const int instance_id = row.integer32(0);
        const core::SignLetter told{sign_of(row, 3, 3), sign_of(row, 4, 5)};
        const bool remembers_heard = row.boolean(6);
        const auto forgotten =
            letter.comes_again
                ? core::Forgotten::nothing
                : core::forgotten({row.integer(1), row.integer(2), remembers_heard}, told);
        const bool is_whole = forgotten == core::Forgotten::nothing;
        note_heard.run(instance_id, sender, letter.id, letter.sent, is_whole);
        if (!is_whole)
            stop(letter, instance_id, what_is_known(letter, forgotten, told));
        else if (remembers_heard)
            forget_older_signs.run(instance_id, sender, told.heard->id);
    });
}

void forget_signs(int instance_id, int node)
{
    forget_signs_of_node.run(instance_id, static_cast<std::int16_t>(node),
                             core::signs_from(last_numbers().letter));
}

}  // namespace hipq::shards
