// Writes letters about shares to the outbox, and reads them.
#include "shards/permits/permit_letters.hpp"

#include "catalog/cache.hpp"
#include "pg/internal_write.hpp"

namespace hipq::shards {

namespace {

constinit pg::Statement insert_request(R"(
    INSERT INTO hipq.shard_outbox (instance, sender, node, kind, body)
    SELECT $1, $2, 0, 'permit_ask',
           jsonb_build_object('limits', jsonb_agg(jsonb_build_object(
               'queue', entry.queue, 'job_type', entry.job_type, 'throttle_key', entry.throttle_key, 'epoch', entry.epoch, 'serial', entry.serial,
               'keep', entry.keep, 'want', entry.want, 'unit', entry.unit)))
    FROM unnest($3, $4, $5, $6, $7, $8, $9, $10) AS entry (queue, job_type, throttle_key, epoch, serial, keep, want, unit))");

constinit pg::Statement insert_answers(R"(
    INSERT INTO hipq.shard_outbox (instance, sender, node, kind, body)
    SELECT $1, 0, entry.node, 'permit_answer',
           jsonb_build_object('limits', jsonb_agg(jsonb_build_object(
               'queue', entry.queue, 'job_type', entry.job_type, 'throttle_key', entry.throttle_key, 'epoch', entry.epoch, 'serial', entry.serial,
               'share', entry.share, 'target', entry.target, 'limit', entry.weight_limit, 'is_all', entry.is_all = 1)))
    FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
        AS entry (node, queue, job_type, throttle_key, epoch, serial, share, target, weight_limit, is_all)
    GROUP BY entry.node)");

// Sorted by key.
#define HIPQ_QUEUE_OF_ENTRY                                                                        \
    " JOIN hipq.instance ON instance.name = $1 JOIN hipq.queue ON queue.instance_id = "            \
    "instance.instance_id AND queue.name = entry.queue AND NOT queue.is_dropped "                  \
    "ORDER BY queue.queue_id, entry.job_type COLLATE \"C\", entry.throttle_key"

constinit pg::Statement select_requests(R"(
    SELECT queue.queue_id, entry.job_type, entry.throttle_key, entry.epoch, entry.serial, entry.keep, entry.want, entry.unit
    FROM pg_catalog.jsonb_to_recordset($2 -> 'limits')
        AS entry (queue text, job_type text, throttle_key bigint, epoch bigint, serial bigint, keep bigint, want bigint, unit bigint))" HIPQ_QUEUE_OF_ENTRY);

constinit pg::Statement select_answers(R"(
    SELECT queue.queue_id, entry.job_type, entry.throttle_key, entry.epoch, entry.serial, entry.share, entry.target, entry."limit", entry.is_all
    FROM pg_catalog.jsonb_to_recordset($2 -> 'limits')
        AS entry (queue text, job_type text, throttle_key bigint, epoch bigint, serial bigint, share bigint, target bigint, "limit" bigint, is_all boolean))" HIPQ_QUEUE_OF_ENTRY);

}  // namespace

void commit_at_once()
{
    pg::call([] {
        (void)::set_config_option("synchronous_commit", "local", PGC_USERSET, PGC_S_SESSION,
                                  GUC_ACTION_LOCAL, true, 0, false);
    });
}

void Requests::add(const SharedLimit &limit, const core::PermitRequest &request)
{
    queues_.push_back(limit.queue->name);
    types_.push_back(limit.key.job_type);
    keys_.push_back(limit.key.throttle_key);
    epochs_.push_back(request.epoch);
    serials_.push_back(request.serial);
    keeps_.push_back(request.keep);
    wants_.push_back(request.want);
    units_.push_back(request.unit);
}

void Requests::send(const catalog::Queue &queue) const
{
    pg::as_hipq([&] {
        insert_request.run(queue.instance, static_cast<std::int16_t>(queue.shards->own_node),
                           queues_, types_, keys_, epochs_, serials_, keeps_, wants_, units_);
    });
}

void Answers::add(const std::string &queue, const LimitKey &key, const core::PermitAnswer &answer)
{
    nodes_.push_back(answer.node);
    queues_.push_back(queue);
    types_.push_back(key.job_type);
    keys_.push_back(key.throttle_key);
    epochs_.push_back(answer.epoch);
    serials_.push_back(answer.serial);
    grants_.push_back(answer.grant);
    targets_.push_back(answer.target);
    limits_.push_back(answer.limit);
    are_all_.push_back(answer.is_all ? 1 : 0);
}

void Answers::send(const std::string &instance) const
{
    if (nodes_.empty())
        return;
    pg::as_hipq([&] {
        insert_answers.run(instance, nodes_, queues_, types_, keys_, epochs_, serials_, grants_,
                           targets_, limits_, are_all_);
    });
}

std::vector<std::pair<LimitKey, core::PermitRequest>> read_requests(const std::string &instance,
                                                                    int sender, pg::RawValue body)
{
    std::vector<std::pair<LimitKey, core::PermitRequest>> requests;
    for (const pg::Row row : pg::as_hipq([&] { return select_requests.run(instance, body); }))
        requests.emplace_back(LimitKey{row.integer32(0), row.text(1), row.integer(2)},
                              core::PermitRequest{sender, row.integer(3), row.integer(4),
                                                  row.integer(5), row.integer(6), row.integer(7)});
    return requests;
}

std::vector<std::pair<LimitKey, core::PermitAnswer>> read_answers(const std::string &instance,
                                                                  int node, pg::RawValue body)
{
    std::vector<std::pair<LimitKey, core::PermitAnswer>> answers;
    for (const pg::Row row : pg::as_hipq([&] { return select_answers.run(instance, body); }))
        answers.emplace_back(LimitKey{row.integer32(0), row.text(1), row.integer(2)},
                             core::PermitAnswer{node, row.integer(3), row.integer(4),
                                                row.integer(5), row.integer(6), row.integer(7),
                                                row.boolean(8)});
    return answers;
}

}  // namespace hipq::shards
