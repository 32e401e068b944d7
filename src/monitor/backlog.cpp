// Counts the unfinished jobs of a queue, hipq._backlog(). This also works right after a crash, when
// the server's statistics are empty.
#include "catalog/cache.hpp"
#include "catalog/queue_statements.hpp"
#include "catalog/visible_queues.hpp"
#include "pg/arguments.hpp"
#include "pg/internal_write.hpp"
#include "pg/subtransaction.hpp"

namespace hipq::monitor {

namespace {

constexpr std::int64_t most_counted_of_queue = 1'000'000;  // half a second
constexpr int most_lock_wait = 100;  // ms, if another session has locked the queue

constexpr const char *backlog_sql = R"(
    SELECT count(*), greatest(count(*), pg_stat_get_live_tuples('{live}'::regclass))
    FROM (SELECT FROM {live} AS job LIMIT $1) AS job)";

struct Backlog {
    std::optional<std::int64_t> jobs{};  // nothing: another session has locked the queue
    bool is_exact = false;
};

Backlog count(const catalog::Queue &queue)
{
    Backlog backlog;
    (void)pg::in_subtransaction(pg::Ending::rolled_back, [&] {
        pg::as_hipq([&] {
            const pg::Row row =
                catalog::statement_for(queue, backlog_sql).run(most_counted_of_queue).front();
            backlog.is_exact = row.integer(0) < most_counted_of_queue;
            backlog.jobs = row.integer(backlog.is_exact ? 0 : 1);
        });
    });
    return backlog;
}

// Returns no row for a queue that is being dropped, or that the caller may not see.
void list_backlog(FunctionCallInfo fcinfo)
{
    const int queue_id = pg::Arguments(fcinfo).integer({0, "queue_id"});
    pg::ResultSet result(fcinfo);
    catalog::VisibleQueues visible_queues;
    const catalog::Queue *queue = visible_queues.visible(queue_id);
    if (queue == nullptr || queue->is_dropped)
        return;
    const pg::LockTimeoutScope lock_timeout(most_lock_wait);
    const Backlog backlog = count(*queue);
    result.add(backlog.jobs, backlog.is_exact);
}

}  // namespace

}  // namespace hipq::monitor

HIPQ_FUNCTION(hipq__backlog)
{
    hipq::monitor::list_backlog(fcinfo);
    return hipq::pg::return_void();
}
