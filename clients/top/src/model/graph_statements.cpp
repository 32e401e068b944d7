// The statements about graphs.
#include "model/statements.hpp"

namespace hipq::top::statements {

// The views look up each job, which takes 35 to 60 microseconds.
Statement graphs()
{
    return {"SELECT newest.graph_id, counted.*,"
            " extract(epoch FROM hipq.now() - counted.created_time) AS age,"
            " extract(epoch FROM counted.ended_time - counted.created_time) AS took"
            " FROM unnest(hipq._newest_graphs(NULL, 50)) WITH ORDINALITY AS newest (graph_id, "
            "number)"
            " CROSS JOIN LATERAL (SELECT count(*) AS jobs,"
            " count(*) FILTER (WHERE member.outcome = 'waiting') AS waiting,"
            " count(*) FILTER (WHERE member.outcome = 'running') AS running,"
            " count(*) FILTER (WHERE member.outcome = 'succeeded') AS succeeded,"
            " count(*) FILTER (WHERE member.outcome IN ('failed', 'cancelled', 'expired'))"
            " AS failed,"
            " count(*) FILTER (WHERE member.outcome = 'skipped') AS skipped,"
            " min(member.created_time) AS created_time,"
            " CASE WHEN bool_and(member.ended_time IS NOT NULL) THEN max(member.ended_time) END"
            " AS ended_time,"
            " array_to_string((array_agg(member.name ORDER BY member.job_id))[1:4], ', ')"
            " AS names"
            " FROM (SELECT jobs.* FROM hipq.graph_jobs_detail AS jobs"
            " WHERE jobs.graph_id = newest.graph_id LIMIT " +
                std::to_string(most_counted) + ") AS member) AS counted ORDER BY newest.number",
            {}};
}

// The names of the jobs before it are divided by a character that no name should have.
Statement graph_jobs(const std::string &id)
{
    return {"SELECT member.graph_id, member.name, member.outcome,"
            " array_to_string(member.after, chr(31)) AS after, member.job_id, member.queue,"
            " member.job_type, member.error,"
            " extract(epoch FROM coalesce(member.ended_time, hipq.now()) - member.started_time)"
            " AS ran"
            " FROM (SELECT jobs.* FROM hipq.graph_jobs_detail AS jobs WHERE jobs.graph_id ="
            " coalesce((SELECT own.graph_id FROM hipq.graph_jobs AS own"
            " WHERE own.job_id = $1::bigint), $1::bigint) LIMIT " +
                std::to_string(most_graph_jobs) + ") AS member ORDER BY member.job_id",
            {id}};
}

}  // namespace hipq::top::statements
