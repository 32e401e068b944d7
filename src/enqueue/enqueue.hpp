// The interface of this room: new jobs by function, INSERT or COPY, and what happens if a key is
// taken.
#pragma once

#include "catalog/cache.hpp"
#include "core/flow/waits.hpp"
#include "job/dependency_rows.hpp"
#include "job/job_row.hpp"
#include "pg/guard.hpp"
#include "pg/spi.hpp"

namespace hipq::enqueue {

// ---- by call ----

// What a caller may specify for a job; empty means "not given".
struct JobOptions {
    std::string type;
    std::optional<pg::Time> scheduled_run_time;
    std::optional<std::int16_t> priority;
    std::optional<int> timeout;
    pg::RawValue throttle_factor;  // numeric
    std::optional<std::string> time_windows;
    std::optional<int> max_retries;
    std::optional<pg::Time> expires_time;
    std::optional<std::string> throttle_key;
    std::optional<int> queue_ttl{};
    std::optional<core::WaitsFor> waits_for{};  // the job is held
    std::optional<std::int64_t> batch_id{};
    std::optional<pg::Time> schedule_time{};  // the time of its schedule, for the job of a run

    // Whether the row needs values that an INSERT by users may not give.
    bool has_own_values() const
    {
        return waits_for.has_value() || batch_id.has_value() || schedule_time.has_value();
    }
};

// NULL and NONE: a job without key.
using Keys = std::vector<std::optional<std::string>>;

// What to do if an unfinished job holds the key. The values from `replace` on act on that job,
// which is looked up first. `after` and `after_first` make a follower if that job runs: a job that
// starts when it has ended; `after` gives it the newest data, `after_first` the first.
enum class OnDuplicate : unsigned char {
    error,
    return_holder,
    replace,
    merge,
    debounce,
    after,
    after_first
};
std::optional<OnDuplicate> parse_on_duplicate(std::string_view text);

// sent: the job belongs to another node, which will check whether its key is free.
enum class EnqueueAction : unsigned char {
    inserted,
    returned,
    replaced,
    merged,
    debounced,
    after,
    sent
};
std::string_view name(EnqueueAction action);

// The job that the caller gets, and what was done to get it.
struct Enqueued {
    std::int64_t id;
    EnqueueAction action;
};

// Enqueues one job in the current transaction, whatever rights the caller has on tables (the caller
// of this function has checked 'enqueue'). If an unfinished job holds the key: raises 23505 with
// type and key, and with the holder's id for callers that may read the queue; or returns the
// holder, unchanged or changed (on_duplicate.hpp). Raises 22023 for a change without a key.
Enqueued enqueue(const catalog::Queue &queue, const JobOptions &options, pg::RawValue data,
                 const std::optional<std::string> &key, OnDuplicate on_duplicate);

// Inserts one job without looking for the holder of its key. Nothing: the key is held, or the id is
// in use.
std::optional<std::int64_t> insert_one(const catalog::Queue &queue, const JobOptions &options,
                                       pg::RawValue data, const std::optional<std::string> &key,
                                       std::optional<std::int64_t> drawn_id = std::nullopt);

// The same for arrays; returns ids in the order of the arrays. Keys are inserted in sorted order,
// so that two callers with the same keys do not deadlock. `data` is jsonb[]; `keys` is empty or has
// the same length. If several jobs have the same key, the first one holds it for the others. New
// jobs come after `after`, if given; the options then hold them.
std::vector<std::int64_t> enqueue_many(const catalog::Queue &queue, const JobOptions &options,
                                       pg::RawValue data, std::size_t count, const Keys &keys,
                                       OnDuplicate on_duplicate,
                                       const std::optional<job::After> &after = std::nullopt);

// ---- copy jobs ----

// Runs an ordinary COPY of new jobs: into a queue's table, from the client or a file, with a list
// of columns that users may set. Returns false, with nothing done, if PostgreSQL must run it or
// report why it cannot be run. Call outside pg::call().
bool copy_jobs(const CopyStmt &statement, const char *source, QueryCompletion *completion);

// ---- insert jobs ----

struct OrdinaryInsert {
    int queue_id;
    bool is_seen;  // the statement calls functions that see the rows before
};

// Whether an INSERT into the table of a queue, which is about to be planned, can be run without the
// guard trigger: no ON CONFLICT, no policy, and values for columns alone that users may set.
std::optional<OrdinaryInsert> ordinary_insert(const Query &query, int queue_id);

// Makes the plan of such an INSERT run without the guard trigger, unless the table is found to be
// changed when it is run. Call inside pg::call() only.
void insert_without_trigger(PlannedStmt &planned, const OrdinaryInsert &ordinary);

// ---- start values ----

using KnownCatalogue = std::shared_ptr<const catalog::Catalogue>;

// ---- new job ----

// Converts a throttle_factor to the column's type, numeric; NULL for nothing. Raises 22023 if it is
// out of range.
pg::RawValue throttle_factor_of(const std::optional<double> &given);

// The part of these checks that does not depend on settings: a job that another server has accepted
// passes it, too.
void check_bounds(job::RowValues &job);

// Raises 22023 unless the time is within the years 1 to 9998, which the calendars of all drivers
// support. `name` is the user's name for it.
void demand_point_in_time(std::string_view name, pg::Time time);

// Raises 22023 for a job that could never start because it expires first. A job whose times are
// equal expires as soon as it is due.
void demand_expiry_after(pg::Time scheduled, pg::Time expires);

// The same for values that a user writes. A scheduled_run_time that equals the start of this
// transaction, or of the one that made the job, is the default and not chosen: such a job may have
// expired already. Call it for values that a user has changed, not for a job that a retry has put
// off.
void check_expiry(const job::RowValues &job);

// Raises 23502 for a job without type.
void demand_job_type(const job::RowValues &job);

// Checks a job that a user is about to enqueue, which has a type, and its queue. Raises 55000 for a
// queue that is being dropped, 42704 for a type that a strict queue does not know, 54000 for an
// unregistered type if the queue has too many of these. Fills in parameters for which the type has
// defaults.
void check_new_job(job::RowValues &job, const catalog::Queue &queue);

// Fills in values that are not given: from the job's type, start values, and an id.
void fill_new_job(job::RowValues &job, const KnownCatalogue &catalogue,
                  const catalog::Queue &queue);

// Raises 23505 because ids that were drawn are in use.
[[noreturn]] void refuse_ids_in_use(const catalog::Queue &queue);

// ---- new rows ----

// Needs a transaction. close() closes what it has opened, or the abort does.
class NewRows {
public:
    // Nothing: the caller must use SQL, because the leaf does not exist or is not as hipq creates
    // it (job/plain_table.hpp); because a user has added something that only SQL respects (a unique
    // index, a CHECK for all leaves, a rule, a policy for the owner); or because the guard trigger
    // would let rows of this session pass. Raises 25006 in a read-only transaction. The locks are
    // those of INSERT.
    enum class With : bool { no_keys, keys };  // what insert_unless_taken() will insert
    static std::optional<NewRows> open(const catalog::Queue &queue, With with);

    // Coerces chosen values to the types of their columns, as an assignment does. Raises the errors
    // of an assignment.
    void coerce(job::RowValues &chosen) const;

    // Checks what INSERT would check, for a row that was made elsewhere: NOT NULL, CHECK, and the
    // domains of columns. Raises class 23. (Rows that hipq makes here have passed the rules, which
    // allow nothing more.)
    void demand_constraints(const job::RowValues &job) const;

    // Inserts rows of jobs without key. False: an id is in use, and the transaction must be
    // aborted.
    bool insert(std::span<const job::RowValues> jobs);
    // Inserts one row as ON CONFLICT DO NOTHING does. False: its id or key is in use.
    bool insert_unless_taken(const job::RowValues &job);
    // Inserts one row as INSERT does: raises 23505 for an id or key that is in use.
    void insert_or_raise(const job::RowValues &job);

    Oid leaf() const;
    void close();

private:
    struct Leaf;
    explicit NewRows(Leaf *leaf) : leaf_(leaf) {}
    Leaf *leaf_;  // in the memory context that was current at open()
};

// Whether enqueueing there may run code of users, such as a trigger. Takes the locks of INSERT.
bool runs_user_code(const catalog::Queue &queue);

// ---- after ----

// Raises 0A000 if jobs of the queue can neither come after others nor be what others come after.
void demand_dependencies(const catalog::Queue &queue);

// Raises 0A000 if jobs of the queue can belong to no batch.
void demand_batches(const catalog::Queue &queue);

// ---- queue for ----

// Returns the queue named; otherwise the queue where the type is registered (among queues that the
// caller has a right on); otherwise hipq.main, which is created if the caller may create queues, in
// which case the catalogue is read again. Raises 42704, or 42P08 for several queues.
const catalog::Queue &queue_for(std::shared_ptr<const catalog::Catalogue> &catalogue,
                                const std::optional<std::string> &name,
                                const std::string &job_type);

// Raises 42P08 for an object that the caller has named without its queue: with the message, and the
// queues that have it.
[[noreturn]] void refuse_ambiguous(const std::vector<const catalog::Queue *> &queues,
                                   const std::string &message);

}  // namespace hipq::enqueue
