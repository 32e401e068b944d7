// Adds job types that jobs name and that are not registered, without a handler.
//
// Types that the catalogue does not have are searched in the live leaf, each once per transaction.
#include "catalog/unregistered_types.hpp"

#include "catalog/queue_statements.hpp"
#include "pg/compat.hpp"
#include "pg/internal_write.hpp"
#include "settings.hpp"

#include <set>

namespace hipq::catalog {

namespace {

// Whether a live leaf has jobs of a type. Free and held jobs have an index each.
#define HIPQ_HAS_JOBS_OF(type)                                                                     \
    "(EXISTS (SELECT FROM {live} AS job WHERE {free job} AND job.job_type = " type ")"             \
    " OR EXISTS (SELECT FROM {live} AS job WHERE {held job} AND job.job_type = " type "))"

constexpr const char *is_waiting_sql = "SELECT " HIPQ_HAS_JOBS_OF("$1");

// A recursive query over the types of the jobs of one index: a loose index scan, which steps from
// one type to the next.
#define HIPQ_TYPES_OF(name, jobs)                                                                  \
    name " AS ((SELECT job.job_type FROM {live} AS job WHERE " jobs                                \
         " ORDER BY job.job_type LIMIT 1) UNION ALL "                                              \
         "SELECT next.job_type FROM " name " CROSS JOIN LATERAL ("                                 \
         "SELECT job.job_type FROM {live} AS job WHERE " jobs " AND job.job_type > " name          \
         ".job_type ORDER BY job.job_type LIMIT 1) AS next)"

// Unregistered types in the catalogue, and types of waiting jobs that it does not have yet. It is
// one statement, because the scheduler may add the types to the catalogue at the same time. $1
// queue, $2 limit
constexpr const char *unregistered_sql = "WITH RECURSIVE " HIPQ_TYPES_OF(
    "free", "{free job}") ", " HIPQ_TYPES_OF("held", "{held job}") R"(
    SELECT known.name FROM hipq.job_type AS known WHERE known.queue_id = $1 AND NOT known.is_registered
    UNION ALL
    SELECT lane.job_type
    FROM (SELECT free.job_type FROM free UNION SELECT held.job_type FROM held) AS lane
    WHERE NOT EXISTS (SELECT FROM hipq.job_type AS known WHERE known.queue_id = $1 AND known.name = lane.job_type)
    LIMIT $2)";

constinit pg::Statement insert_type(R"(
    INSERT INTO hipq.job_type (queue_id, name, time_zone, is_registered)
    SELECT queue.queue_id, $2, $3, false FROM hipq.queue AS queue WHERE queue.queue_id = $1 FOR KEY SHARE
    ON CONFLICT DO NOTHING)");

// $1 queue, $2 time
constexpr const char *select_unused_sql = R"(
    SELECT known.name
    FROM hipq.job_type AS known
    WHERE known.queue_id = $1 AND NOT known.is_registered AND known.created_time < $2
      AND NOT )" HIPQ_HAS_JOBS_OF("known.name") R"(
      AND NOT EXISTS (SELECT FROM hipq.pause AS pause WHERE pause.queue_id = $1 AND pause.job_type = known.name))";

constinit pg::Statement delete_types(
    "DELETE FROM hipq.job_type WHERE queue_id = $1 AND name = ANY ($2) AND NOT is_registered");

// What this transaction knows of the unregistered types of one queue.
struct Unregistered {
    std::set<std::string, std::less<>> admitted;  // types accepted for new jobs
    std::set<std::string, std::less<>> all;       // types counted against the limit
    bool is_lane_known = false;                   // `all` includes what others have committed
};

struct OfTransaction {
    LocalTransactionId transaction;
    std::map<int, Unregistered> queues;
};

constinit OfTransaction *of_this_transaction = nullptr;  // on the heap: no destructor at exit

Unregistered &of_present_transaction(const Queue &queue)
{
    if (of_this_transaction == nullptr)
        of_this_transaction = new OfTransaction{InvalidLocalTransactionId, {}};
    if (std::exchange(of_this_transaction->transaction, pg::own_local_transaction()) !=
        pg::own_local_transaction())
        of_this_transaction->queues.clear();
    return of_this_transaction->queues[queue.id];
}

bool is_waiting_there(const Queue &queue, std::string_view job_type)
{
    return pg::as_hipq([&] {
        return statement_for(queue, is_waiting_sql).run_latest(job_type).front().boolean(0);
    });
}

void look_at_lane(Unregistered &types, const Queue &queue)
{
    if (std::exchange(types.is_lane_known, true))
        return;
    const auto most = std::int64_t{settings::max_unregistered_types} + 1;
    for (const pg::Row row : pg::as_hipq(
             [&] { return statement_for(queue, unregistered_sql).run_latest(queue.id, most); }))
        types.all.insert(row.text(0));
}

[[noreturn]] void refuse(const Queue &queue, std::string_view job_type)
{
    const std::string name = queue.full_name();
    const std::string type_name(job_type);
    HIPQ_RAISE(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
               errmsg("job type \"%s\" is not registered in queue \"%s\"", type_name.c_str(),
                      name.c_str()),
               errdetail("The queue has as many unregistered job types as it may "
                         "(hipq.max_unregistered_types = %d).",
                         settings::max_unregistered_types),
               errhint("Use hipq.register_job_type()."));
}

}  // namespace

void demand_capacity_for_type(const Queue &queue, std::string_view job_type)
{
    if (queue.find_job_type(job_type) != nullptr)
        return;
    Unregistered &types = of_present_transaction(queue);
    if (types.admitted.contains(job_type))
        return;
    if (!is_waiting_there(queue, job_type)) {
        look_at_lane(types, queue);
        if (types.all.size() >= static_cast<std::size_t>(settings::max_unregistered_types))
            refuse(queue, job_type);
        types.all.emplace(job_type);
    }
    types.admitted.emplace(job_type);
}

void register_unknown_type(const Queue &queue, std::string_view job_type,
                           const std::string &time_zone)
{
    if (queue.find_job_type(job_type) == nullptr && !queue.is_strict)
        pg::as_hipq([&] { insert_type.run(queue.id, job_type, time_zone); });
}

void forget_unused_types(const Queue &queue, pg::Time before)
{
    if (queue.type_facts().unregistered == 0)
        return;
    pg::as_hipq([&] {
        std::vector<std::string> unused;
        for (const pg::Row row : statement_for(queue, select_unused_sql).run(queue.id, before))
            unused.push_back(row.text(0));
        if (!unused.empty())
            delete_types.run(queue.id, unused);
    });
}

}  // namespace hipq::catalog
