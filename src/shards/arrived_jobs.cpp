// Enqueues jobs that have arrived, or sends them on.
//
// Takes all jobs of a letter at once. If a job's contents make that fail, takes each by itself, so
// that one bad job stops neither the others nor the stream.
#include "shards/arrived_jobs.hpp"

#include "catalog/cache.hpp"
#include "catalog/name_lock.hpp"
#include "core/shards/ids.hpp"
#include "core/shards/letter_errors.hpp"
#include "core/shards/letters.hpp"
#include "enqueue/enqueue.hpp"
#include "job/job_row.hpp"
#include "nodes/nodes.hpp"
#include "pg/internal_write.hpp"
#include "pg/json_array.hpp"
#include "pg/subtransaction.hpp"
#include "shards/arrivals.hpp"
#include "shards/rejects.hpp"
#include "shards/remote.hpp"

namespace hipq::shards {

namespace {

using core::Column;

// Jobs of slots that have left a node: each has its key, and no job at the node that it comes to
// has it.
constexpr std::string_view moved = "moved";

const catalog::Queue &queue_of(const catalog::Catalogue &catalogue, const Letter &letter)
{
    return catalog::require_queue(catalogue, letter.instance + "." + letter.queue);
}

// The jobs of this node, with their positions in the letter.
struct Sorted {
    std::vector<pg::RawValue> sent;
    std::vector<job::RowValues> own;
    std::vector<pg::RawValue> kept;  // those in `sent`, and held ones
};

// The values that all jobs share unless they say otherwise. Moved jobs are complete.
std::optional<job::RowValues> shared_by(const Letter &letter)
{
    return letter.kind == moved || letter.body.null ? std::nullopt
                                                    : std::optional(nodes::values_of(letter.body));
}

// Checks what every job must have before it is processed. The table, or the node that the job goes
// on to, checks the rest.
job::RowValues read_job(const Letter &letter, pg::RawValue json,
                        const std::optional<job::RowValues> &shared)
{
    if (json.null)
        HIPQ_RAISE(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                   errmsg("a job that has arrived is NULL"));
    job::RowValues job =
        shared.has_value() ? nodes::values_of(json, *shared) : nodes::values_of(json);
    const auto id = static_cast<long long>(job.as_int64(Column::id));
    if (!core::may_send_job(letter.sender, id))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("node %d cannot have a job with id %lld", letter.sender, id));
    enqueue::demand_job_type(job);
    if (!core::is_waiting(job.state()))
        HIPQ_RAISE(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                   errmsg("job %lld, which has arrived, does not wait", id));
    return job;
}

Sorted sort(const Letter &letter, const catalog::Queue &queue, std::span<const pg::RawValue> jobs)
{
    const bool have_keys = letter.kind == moved;
    const std::optional<job::RowValues> shared = shared_by(letter);
    const nodes::Origin origin{letter.sender, letter.id, have_keys};
    Sorted sorted;
    nodes::OutboxRows rows(queue, letter.kind);
    for (const pg::RawValue &json : jobs) {
        const job::RowValues job = read_job(letter, json, shared);
        if (const auto node = nodes::destination(queue, job.as_int64(Column::id))) {
            rows.add(job, *node);
            continue;
        }
        sorted.kept.push_back(json);
        const bool may_be_held = have_keys ? queue.comes_in_order(job.as_int64(Column::id))
                                           : nodes::may_be_busy(queue, job);
        if (may_be_held && !letter.is_let_in &&
            nodes::hold(queue, job, nodes::json_of(job), origin))
            continue;
        sorted.sent.push_back(json);
        sorted.own.push_back(job);
    }
    rows.send();
    return sorted;
}

constinit pg::Statement insert_taken(R"(
    INSERT INTO hipq.shard_outbox (instance, sender, node, kind, queue, jobs)
    SELECT $1, 0, 0, 'taken', $2, ARRAY(SELECT jsonb_build_object('id', job.value -> 'id') FROM unnest($3) AS job (value)))");

// Records the router's last word about jobs of a shard that it takes itself
// (core/shards/resync.hpp). The row is read only if the shard comes back and has forgotten that it
// has sent them.
void note_taken(const Letter &letter, const catalog::Queue &queue,
                const std::vector<pg::RawValue> &jobs)
{
    const int own_node = queue.shards->own_node;
    if (own_node != core::router_node || letter.sender == own_node || jobs.empty())
        return;
    const pg::RawValue kept = pg::array_of(jobs);
    pg::as_hipq([&] { insert_taken.run(letter.instance, letter.queue, kept); });
}

void take(const Letter &letter, std::span<const pg::RawValue> jobs)
{
    const auto catalogue = catalog::catalogue_with_locked_maps();
    const catalog::Queue &queue = queue_of(*catalogue, letter);
    const Sorted sorted = sort(letter, queue, jobs);
    note_taken(letter, queue, sorted.kept);
    const std::vector<bool> written = accept(queue, sorted.own, letter.was_accepted);
    for (std::size_t i = 0; i < written.size(); ++i)
        if (!written[i])
            reject_duplicate(letter, sorted.sent[i]);
}

// An error that a trigger itself raises is about its job. Others are about this server, by their
// SQLSTATE, and the letter waits until it can be taken.
bool is_about_job(const pg::Error &error)
{
    return error.is_raised_by_language() || core::is_about_sent_job(error.sqlstate());
}

// A trigger may cancel what it runs in, each time.
constexpr int most_cancels = 3;

std::optional<pg::Error> error_of_taking(const Letter &letter, std::span<const pg::RawValue> jobs)
{
    std::optional<pg::Error> error;
    for (int tries = 0; tries < most_cancels; ++tries) {
        error = pg::in_subtransaction(pg::Ending::kept, [&] { take(letter, jobs); });
        if (!error.has_value() || error->sqlerrcode() != ERRCODE_QUERY_CANCELED)
            break;
    }
    if (error.has_value() && error->sqlerrcode() != ERRCODE_QUERY_CANCELED && !is_about_job(*error))
        throw *error;  // NOLINT(cert-err60-cpp): as it came
    return error;
}

// Shards know what is set up on the router as soon as it is on the router's disk, the router's
// processes only when the commit has ended. So a job that a shard sent rightly may look bad here.
// Raises 55P03 if that takes long: then the stream stops, and goes on by itself.
void wait_for_set_up(const std::string &instance)
{
    if (!comes_true([&] { return catalog::is_set_up_settled(instance); }))
        HIPQ_RAISE(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
                   errmsg("a transaction that sets up queues of instance \"%s\" is open",
                          instance.c_str()),
                   errdetail("A shard has sent a job that may need what it sets up."),
                   errhint("End it: it has RowExclusiveLock on hipq.queue, hipq.job_type or "
                           "hipq.pause."));
}

}  // namespace

void take_jobs(const Letter &letter)
{
    const std::vector<pg::RawValue> jobs = pg::elements_of(letter.jobs);
    if (jobs.empty())
        return forget_resent(letter);
    auto error_of_all = error_of_taking(letter, jobs);
    if (error_of_all.has_value() && letter.node == core::router_node) {
        wait_for_set_up(letter.instance);
        error_of_all = error_of_taking(letter, jobs);
    }
    if (!error_of_all.has_value())
        return;
    for (const pg::RawValue &job : jobs)
        if (const auto error = error_of_taking(letter, {&job, 1}))
            reject(letter, job, *error);
}

}  // namespace hipq::shards
