// The interface of this room: calls by the ids of jobs on other nodes of a sharded instance, and
// jobs that are sent to other nodes.
#pragma once

#include "catalog/cache.hpp"
#include "job/job_row.hpp"
#include "pg/clock.hpp"
#include "pg/spi.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hipq::nodes {

// ---- answer ----

// A call: the name of the function, the id of a job, and the further arguments as text.
struct Call {
    std::string function;
    std::int64_t id;
    std::vector<std::optional<std::string>> arguments{};
    std::optional<std::string> queue{};  // only the nodes of its instance are asked
    bool is_about_letter = false;        // about a dead letter, not a job
};

// ---- neighbours ----

// This node in a sharded instance.
struct OwnNode {
    int node;
    std::string timeline;  // when it was last in step
};

// Returns nothing if `neighbour` is no neighbour of this node in that instance. Shards are the
// neighbours of the router; the router is the only neighbour of a shard.
std::optional<OwnNode> node_beside(const std::string &instance, int neighbour);

// ---- as text ----

std::string text_of(pg::Time time);

// Converts jsonb; nothing for NULL.
std::optional<std::string> text_of(pg::RawValue json);

// Converts from microseconds since 1970, or "infinity".
pg::Time time_of(const std::string &microseconds);

// Converts from text: jsonb in the current memory context.
pg::RawValue json_of(const std::string &text);

// ---- dblink ----

// Rows of one column; nothing: NULL.
using Answers = std::vector<std::optional<std::string>>;
using Query = std::function<Answers(const std::string &statement)>;

// Opens a session on another server in which `talk` runs statements of one column, each in a
// transaction of its own unless it begins one. The caller can be cancelled while it waits. Raises
// 08001 if the server does not answer, any error of the statements, and 55000 if dblink is not
// installed. In any case no connection is left in the session, where every role that may call
// dblink could use it; a transaction left open there is rolled back.
void converse(const std::string &conninfo, const std::function<void(const Query &)> &talk);

struct Reply {
    bool is_reached;                    // false: there is no answer, or not a complete one
    std::optional<std::string> answer;  // nothing: NULL
    std::string trouble;                // why the server cannot be reached, for this server's log
};

// Runs a statement of one row and one column on another server in the same way, but reports an
// unreachable server in the reply. Raises an error of the statement with `where` as context.
Reply ask(const std::string &conninfo, const std::string &statement, const std::string &where);

// ---- find node ----

enum class Place : unsigned char {
    elsewhere,  // another node has answered
    nowhere,    // no node that could have it has it
    held,       // here, but held until its key is free at the node that had its slot
    unknown,    // not all nodes that could have it have answered
};

struct Found {
    Place place = Place::nowhere;
    std::string answer{};      // elsewhere: JSON, or text, in the function's format (answer.cpp)
    std::string node{};        // elsewhere: shard 2 of instance "app"
    std::string reason{};      // held, unknown: a sentence; nowhere: one if the reason is known
    std::string log{};         // unknown: additional text for the server's log
    bool keeps_order = false;  // held: to keep the order of its queue, not for its key
};

// Passes a call on to the node that has its job, which this node does not. Does nothing in a
// database without sharded instances. Raises what the other node raises; 42P08 if nodes of two
// instances have such a job.
//
// Another node's work takes effect at once, whatever becomes of the current transaction.
Found search(const catalog::Catalogue &catalogue, const Call &call);

// The same for callers that want the answer: returns it, or nothing if no node has the job. Raises
// HQ503 if that is not certain, 55P03 while the job is held.
std::optional<std::string> call(const catalog::Catalogue &catalogue, const Call &call);

// The same, but raises 42704 if no node has the job.
std::string call_for_job(const catalog::Catalogue &catalogue, const Call &call);

// Returns the answer of `found`, or raises these errors.
std::optional<std::string> require_certain(const Call &call, const Found &found);

// ---- held jobs ----

// Whether the caller must call hold().
bool may_be_busy(const catalog::Queue &queue, const job::RowValues &job);

// The origin of a job: a row of a node's outbox; node 0 for a job that is enqueued here.
struct Origin {
    int node;
    std::int64_t outbox_id;
    bool was_accepted = false;  // it was in a table of another node
    bool operator==(const Origin &) const = default;
};

// Holds a job in the form in which it was sent. False: its key is known to be free, or in strict
// order all jobs have come and none is held.
[[nodiscard]] bool hold(const catalog::Queue &queue, const job::RowValues &job, pg::RawValue json,
                        const Origin &origin);

// ---- job json ----

// jsonb of the columns that are not NULL, without its queue; in the current memory context.
pg::RawValue json_of(const job::RowValues &job);

// The same for many similar jobs, in two parts: the columns that the first one shares with the
// others, and for each job the columns that differ from that, with NULL as JSON null.
pg::RawValue shared_json_of(const job::RowValues &first);
pg::RawValue json_of(const job::RowValues &job, const job::RowValues &first);

// Convert back. A column that is not in the object is NULL, or as in `shared`; a member that is not
// a column is ignored (a newer release may have sent it). The result points into the current memory
// context. Raises what the types' input functions raise.
job::RowValues values_of(pg::RawValue json);
job::RowValues values_of(pg::RawValue json, const job::RowValues &shared);

// ---- made jobs ----

struct MadeJob {
    std::int64_t made_of;
    std::int64_t id;
};

// While an object of this class exists, it collects them.
class MadeJobs {
public:
    MadeJobs();
    ~MadeJobs();
    MadeJobs(const MadeJobs &) = delete;
    MadeJobs &operator=(const MadeJobs &) = delete;

    const std::vector<MadeJob> &sent() const { return sent_; }

private:
    friend void note_made_and_sent(const MadeJob &job);
    std::vector<MadeJob> sent_{};
    MadeJobs *before_;
};

void note_made_and_sent(const MadeJob &job);

// ---- old rejects ----

// Deletes the oldest rows of hipq.shard_reject whose retention has ended, at most `limit`.
// Duplicates are kept as long as final jobs of their queue, others as long as dead letters. A
// resync asks which jobs a node has refused, so rows since `needed_since` are kept. For
// maintenance; needs a transaction.
void prune_rejects(pg::Time needed_since, int limit);

// ---- outbox limit ----

// Raises 53400 if more WAL than hipq.outbox_max is kept for a node that does not read it. The disk
// is shared by all, so the session that would add to it gets the error; data that is already on its
// way is not held up.
void demand_room(const catalog::Queue &queue, int node);

// ---- outbox rows ----

// Collects the jobs of one statement and one queue by target node, and writes them to
// hipq.shard_outbox: at most 1,000 jobs or about 1 MB per row, because a row costs as much as
// hundreds of jobs. The values that new jobs of a row share are stored once, in its body. add()
// copies the job. Needs a transaction; jobs that are not sent are lost.
class OutboxRows {
public:
    // `kind` says whether the jobs are new, or moved ones, which have been in a queue before and
    // have their keys.
    explicit OutboxRows(const catalog::Queue &queue, std::string_view kind = "jobs")
        : queue_(&queue), kind_(kind)
    {
    }
    void add(const job::RowValues &job, int node);
    void send();

private:
    struct OutboxRow {
        std::optional<job::RowValues> first{};
        std::vector<pg::RawValue> jobs;
        std::size_t bytes = 0;
    };
    pg::RawValue json_for(OutboxRow &row, const job::RowValues &job) const;
    void send(int node, OutboxRow &row);

    const catalog::Queue *queue_;
    std::string kind_;
    std::map<int, OutboxRow> rows_;
};

// ---- placement ----

// Assigns the id of a new job of a queue of a sharded instance, which contains its slot, and its
// shard_key where the queue takes that from another column or from job_data. `sequence` is the
// sequence of ids.
void place(job::RowValues &job, const catalog::Queue &queue, Oid sequence);

// The slot that place() would assign to a job with the sequence number `number`.
int slot_if_placed_now(const job::RowValues &job, const catalog::Queue &queue, std::int64_t number);

// Whether a job with a key gets the same slot in both queues, which are of one instance or one
// queue before and after a change. (The scope in which its key is unique does not matter here.)
bool place_keys_alike(const catalog::Queue &one, const catalog::Queue &other);

// The shard key of a job; nothing: it has none, and is placed by its key or anywhere.
std::optional<std::string> shard_key_of(const job::RowValues &job, const catalog::Queue &queue);

// Sets only the shard_key, for a job that has its id or whose instance has no shards. It also
// matters where keys are unique per shard key.
void fill_shard_key(job::RowValues &job, const catalog::Queue &queue);

// The node that a job must be sent to; nothing: it stays here, as every job does in an instance
// that is not sharded. A shard sends to the router, whose map is authoritative.
std::optional<int> destination(const catalog::Queue &queue, std::int64_t job_id);

// ---- unread ----

// The time from which on rows of the outbox may not have been read by every node that they are for.
// These rows are kept, whatever their age, since a replication slot may be lost. At most `now`;
// nothing: not known yet. For maintenance, which calls it from time to time; needs a transaction.
std::optional<pg::Time> unread_since(pg::Time now);

}  // namespace hipq::nodes
