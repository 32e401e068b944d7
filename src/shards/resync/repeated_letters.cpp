// Finds the router's last word about each job.
//
// The router answers every letter of a shard with a row in its outbox. Numbers of rows grow with
// time, so the answer to a letter that the shard has forgotten has a greater number than the newest
// letter that the shard has received, or, if it went on receiving, had received when it forgot.
#include "shards/resync/repeated_letters.hpp"

#include "core/shards/resync.hpp"
#include "pg/internal_write.hpp"

#include <algorithm>
#include <set>

namespace hipq::shards {

namespace {

// $2 node, $3 newest letter that it had, $4 letters that it lacks. Jobs that were enqueued on the
// router or on another shard, and are on another node, have never been in the shard's tables: only
// jobs that were in a table are sent as `moved`. The router knows the jobs that the shard has
// rejected.
constinit pg::Statement select_words(R"(
    SELECT word.job_id, word.node, word.letter, word.kind <> 'jobs'
    FROM (
        SELECT DISTINCT ON (sent.job_id) sent.job_id, sent.node, sent.kind, sent.letter
        FROM (
            SELECT (job.value ->> 'id')::bigint AS job_id, outbox.node, outbox.kind, outbox.id AS letter
            FROM hipq.shard_outbox AS outbox
            CROSS JOIN LATERAL unnest(outbox.jobs) AS job (value)
            WHERE outbox.instance = $1 AND outbox.sender = 0 AND (outbox.id > $3 OR outbox.id = ANY ($4))
        ) AS sent
        ORDER BY sent.job_id, sent.letter DESC
    ) AS word
    WHERE (word.node = $2 OR word.kind IN ('moved', 'taken'))
      AND NOT EXISTS (
          SELECT
          FROM hipq.shard_reject AS reject
          WHERE reject.instance = $1 AND reject.sender = 0 AND reject.node = word.node AND reject.job_id = word.job_id AND reject.outbox_id = word.letter))");

// $2: the jobs that stay in it.
constinit pg::Statement leave_jobs_out(R"(
    SELECT jsonb_set($1::jsonb, '{jobs}', coalesce(jsonb_agg(job.value ORDER BY job.place), '[]'))::text
    FROM pg_catalog.jsonb_array_elements($1::jsonb -> 'jobs') WITH ORDINALITY AS job (value, place)
    WHERE (job.value ->> 'id')::bigint = ANY ($2))");

// Turns a letter that has no jobs left, or is superseded, into a sign of life: the shard needs only
// its name.
constinit pg::Statement leave_all_out(R"(
    SELECT ($1::jsonb || '{"kind": "alive", "queue": null, "jobs": null, "body": null}')::text)");

constinit pg::Statement select_truth(R"(
    SELECT jsonb_build_object(
               'set_up', hipq._set_up_of($1), 'generation', map.generation, 'nodes', to_jsonb(map.nodes),
               'moves', (SELECT coalesce(jsonb_agg(jsonb_build_object('slot', move.slot, 'from_node', move.from_node, 'to_node', move.to_node, 'busy', move.busy_keys,
                                                                     'in_order', move.in_order, 'last', move.last_sent)), '[]')
                         FROM hipq.shard_move AS move
                         WHERE move.instance_id = map.instance_id AND $2 IN (move.from_node, move.to_node)),
               'stale', to_jsonb($3::bigint[]), 'anew', $4::boolean)::text
    FROM hipq.shard_map AS map
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1)");

// The current state replaces these letters.
bool is_superseded(const KeptLetter &letter)
{
    return letter.kind == "set_up" || letter.kind == "map" || letter.kind == "returned" ||
           letter.kind == "last";
}

struct Word {
    std::int64_t job_id;
    int node;
    std::int64_t letter;
    bool was_in_queue;  // so it may be in the shard's tables
};

std::vector<Word> words(const std::string &instance, int node,
                        const std::vector<KeptLetter> &unread, std::int64_t newest)
{
    std::vector<std::int64_t> letters;
    for (const KeptLetter &letter : unread)
        if (letter.has_jobs())
            letters.push_back(letter.id);
    std::vector<Word> all;
    for (const pg::Row row :
         select_words.run(instance, static_cast<std::int16_t>(node), newest, letters))
        all.push_back({row.integer(0), row.integer32(1), row.integer(2), row.boolean(3)});
    return all;
}

std::string text_of(pg::Statement &statement, const std::string &letter)
{
    return statement.run(letter).front().text(0);
}

}  // namespace

Resending choose(const std::string &instance, int node, const std::vector<KeptLetter> &unread,
                 const Read &read)
{
    return pg::as_extension_owner([&] {
        Resending resending;
        std::set<std::int64_t> unread_ids;
        for (const KeptLetter &letter : unread)
            unread_ids.insert(letter.id);
        std::map<std::int64_t, std::vector<std::int64_t>> jobs_of;  // by letter
        for (const Word &word : words(instance, node, unread, read.whole)) {
            const bool is_there = word.letter <= read.newest && !unread_ids.contains(word.letter);
            const bool comes_again = core::is_sent_again(node, word.node) && !is_there;
            if (comes_again)
                jobs_of[word.letter].push_back(word.job_id);
            if (word.was_in_queue && core::is_stale(node, word.node, comes_again))
                resending.stale.push_back(word.job_id);
        }
        // Jobs that were accepted before come first: newer ones may be duplicates of them.
        std::vector<KeptLetter> ordered = unread;
        std::stable_partition(ordered.begin(), ordered.end(),
                              [](const KeptLetter &letter) { return letter.kind == "moved"; });
        for (const KeptLetter &letter : ordered) {
            const auto jobs = jobs_of.find(letter.id);
            const bool is_empty = letter.has_jobs() && jobs == jobs_of.end();
            if (is_empty || is_superseded(letter))
                resending.letters.push_back(text_of(leave_all_out, letter.json));
            else if (letter.has_jobs())
                resending.letters.push_back(
                    leave_jobs_out.run(letter.json, jobs->second).front().text(0));
            else
                resending.letters.push_back(letter.json);
        }
        return resending;
    });
}

std::string truth_for(const std::string &instance, int node, const std::vector<std::int64_t> &stale,
                      bool anew)
{
    return pg::as_extension_owner([&] {
        return select_truth.run(instance, static_cast<std::int16_t>(node), stale, anew)
            .front()
            .text(0);
    });
}

}  // namespace hipq::shards
