// Asks all shards which jobs of letters they have.
#include "shards/resync/known_jobs.hpp"

#include "pg/internal_write.hpp"

namespace hipq::shards {

namespace {

constinit pg::Statement select_conninfos(R"(
    SELECT shard.conninfo
    FROM hipq.shard AS shard
    JOIN hipq.instance AS instance USING (instance_id)
    WHERE instance.name = $1)");
constinit pg::Statement select_job_ids(R"(
    SELECT (job.value ->> 'id')::bigint
    FROM pg_catalog.jsonb_array_elements($1::jsonb -> 'jobs') AS job (value))");
constinit pg::Statement leave_ids_out(R"(
    SELECT jsonb_set($1::jsonb, '{jobs}', coalesce(jsonb_agg(job.value ORDER BY job.place) FILTER (WHERE (job.value ->> 'id')::bigint <> ALL ($2)), '[]'))::text
    FROM pg_catalog.jsonb_array_elements($1::jsonb -> 'jobs') WITH ORDINALITY AS job (value, place))");

std::string list_of_jobs(const std::vector<KeptLetter> &letters)
{
    std::string list;
    for (const KeptLetter &letter : letters)
        if (letter.has_jobs())
            for (const pg::Row row : select_job_ids.run(letter.json))
                list.append(list.empty() ? "" : ",").append(std::to_string(row.integer(0)));
    return list;
}

std::string statement_about(const std::string &ids)
{
    const std::string known = " = ANY ('{" + ids + "}'::bigint[])";
    return "SELECT job.id::text FROM hipq.job AS job WHERE job.id" + known +
           " UNION SELECT held.job ->> 'id' FROM hipq.shard_held_job AS held WHERE (held.job ->> "
           "'id')::bigint" +
           known;
}

}  // namespace

void leave_out_known_jobs(const std::string &instance, std::vector<KeptLetter> &letters)
{
    std::vector<std::int64_t> known;
    pg::as_extension_owner([&] {
        const std::string ids = list_of_jobs(letters);
        if (ids.empty())
            return;
        for (const pg::Row row : select_conninfos.run(instance))
            for (const std::string &id : ask(row.text(0), statement_about(ids)))
                known.push_back(std::stoll(id));
        for (KeptLetter &letter : letters)
            if (letter.has_jobs())
                letter.json = leave_ids_out.run(letter.json, known).front().text(0);
    });
}

}  // namespace hipq::shards
