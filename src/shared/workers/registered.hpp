// External workers in shared memory: which are present, what each has in flight, how reliable each
// is.
//
// A cache of table hipq.worker, with what only the running server knows: sessions, heartbeats,
// counts. After a restart it is filled again from the table (catalog/worker_rows.hpp). Then every
// worker is unknown until it sends a sign of life, and sessions to which workers were bound are
// gone. The workers have their own lock, which is held for straight-line code only. A worker is
// identified by its database and number; numbers are those of the current database unless a
// database is given.
#pragma once

#include "core/workers/worker_choice.hpp"
#include "core/workers/worker_health.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::workers {

enum class WorkerState : unsigned char { free, registering, present, ended };

struct WorkerSlot {
    std::int64_t id;  // hipq.worker.worker_id
    Oid database;
    Oid role;
    WorkerState state;
    bool is_draining;
    bool is_successor;  // until its transaction ends: it takes the place of a worker that departs
                        // in the same transaction
    bool has_departed;  // deregistered or taken over: it stays for the jobs that it still has
    std::int32_t next;  // the next worker in its bucket
    std::uint32_t generation;
    int pid;      // of the session it is bound to; 0: none
    int process;  // that session's PGPROC number, or no_process
    int waiting;  // likewise, of a session that waits for jobs on its behalf
    int capacity;
    int prefetch;
    int running;  // jobs accepted, or about to be; for jobs offered see record.depth
    std::uint64_t last_chosen;
    pg::Time registered;
    pg::Time heartbeat;  // the last one; -infinity: none since the server started
    pg::Time turned;     // when its own report made it unhealthy, or no longer so; -infinity: never
    pg::Time ended;      // when its session ended, or it was deregistered with jobs in flight
    core::WorkerRecord record;
    char name[64];
};
static_assert(std::is_trivially_copyable_v<WorkerSlot>);

inline constexpr pg::Time never{std::numeric_limits<std::int64_t>::min()};

// Facts about a worker when it is registered, or read from the table.
struct NewWorker {
    std::int64_t id;
    Oid role;
    int capacity;
    int prefetch;
    bool is_draining;
    bool is_bound;
    std::string name;
    core::SelfReport report;
};

// A worker and its probable place in the table, so that a thousand workers are found without a
// search for each.
struct WorkerRef {
    std::int64_t id;
    std::int32_t place;
};

// The limits according to the settings.
core::HealthLimits health_limits();

// Arrival and departure: worker_changes.cpp, read_back.cpp
// ----------------------------------------------------------------------------------------------

// Takes a place for a worker that this transaction registers, whether bound to this session or not.
// The worker is present when the transaction has committed; a rollback, also of a savepoint,
// removes it. A worker that succeeds another one, which departs in this transaction, takes that
// one's place. Other workers need a place in the share of their role.
enum class Registered : unsigned char { yes, too_often, no_share, no_capacity };
Registered register_worker(const NewWorker &worker, std::optional<std::int64_t> predecessor);

// At commit: the worker departs. If it has jobs in flight, it stays, as ended, until they are
// reclaimed.
void note_departure(std::int64_t id);

// At commit: the worker gets no more jobs.
void note_draining(std::int64_t id);

// At commit: this session no longer listens, so the workers bound to it have ended.
void note_end_of_listening();

// Adds a worker from table hipq.worker that was registered before a restart; does nothing if the
// worker is there already. Returns false if there is no room.
bool restore_worker(const NewWorker &worker);

// are_workers_read() tells whether all workers of this database have been read from the table since
// the server started. worker_changes() counts how often workers have come or gone for good in the
// whole server. note_workers_read() returns true, and marks the workers as read, only if that
// number is still `changes`.
bool are_workers_read();
std::uint64_t worker_changes();
bool note_workers_read(std::uint64_t changes);

// Frees the place of a worker that has ended, when nothing remains to be done about it.
void remove_worker(std::int64_t id) noexcept;

// Ends the workers bound to this process, when it exits or stops listening.
void end_own_workers() noexcept;

// Whether a worker is bound to this session.
bool has_own_workers();

// Events of dispatch (dispatch_counts.cpp). These functions do nothing if the worker is not there,
// and cannot fail
// ----------------------------------------------------------------------------------------------

enum class Holding : unsigned char { offered, running };

// The worker is offered one more job. Returns its place, which it keeps as long as it has jobs, and
// whether the job is a probe. Returns nothing if the worker is not there, has ended, or may not get
// another job.
struct Choice {
    WorkerRef worker;
    bool is_probe;
};
std::optional<Choice> note_dispatched(std::int64_t id) noexcept;
// The worker does not get the job after all.
void note_not_given(const Choice &choice) noexcept;
// The worker is about to accept as many of its offers as it may run, at most `most`: returns how
// many. Also a sign of life.
// `ended`: how many of the jobs that it runs are about to end.
std::size_t note_taken(std::int64_t id, std::size_t most, std::size_t ended) noexcept;
// It does not accept one of them now, which is an offer again.
void note_given_back(std::int64_t id) noexcept;
// An accepted job has ended.
void note_finished(std::int64_t id, core::Execution execution, std::int64_t run_time,
                   bool was_probe) noexcept;
// An offer was not accepted in time.
void note_expired(std::int64_t id) noexcept;
// The worker has one job less, without fault: released, cancelled, drained.
void note_returned(std::int64_t id, Holding holding) noexcept;
// The worker has accepted a job that was not counted yet.
void note_held(std::int64_t id) noexcept;
// The worker's jobs in flight, after they were counted again.
void note_in_flight(std::int64_t id, int offered, int running) noexcept;
// A sign of life, with or without the worker's own report. Returns false if the worker is not
// there.
bool note_heartbeat(std::int64_t id, const core::SelfReport *report) noexcept;
// For the scheduler: starts the probe clocks of workers that have become unhealthy by time or
// settings.
void keep_probe_clocks() noexcept;

// This process waits for jobs of that worker, or no longer does. Returns whether it is woken when
// the worker is offered a job, or gets no more jobs; if several processes wait, one of them is.
bool note_waiting_for_jobs(std::int64_t id);
void note_end_of_waiting(std::int64_t id) noexcept;
// Whether a process waits that is woken.
bool is_waited_for(const WorkerRef &worker) noexcept;
// Call when the worker has been offered a job.
void wake_waiting_worker(const WorkerRef &worker) noexcept;

// Job types whose jobs no worker can get (unserved_types.cpp): for the scheduler, which checks them
// repeatedly while jobs are due
// ----------------------------------------------------------------------------------------------

// Returns since when no worker has been able to get jobs of this type, as far as schedulers have
// seen. If there was no call within the last minute, that is since this call. Earlier calls may
// have been made by another scheduler.
pg::Time unserved_since(int queue_id, std::string_view job_type);
// A worker can get jobs of this type, or the jobs wait for something other than a worker.
void note_served(int queue_id, std::string_view job_type) noexcept;
// The same for all types of a queue, and of this database.
void note_queue_served(int queue_id) noexcept;
void note_all_served() noexcept;
// The queues of this database with unserved types.
std::set<int> unserved_queues();

// Shares in the table of jobs in flight (role_shares.cpp)
// ----------------------------------------------------------------------------------------------

// How many more jobs the workers of each role may have in flight, in the whole server: a snapshot,
// reduced by what was taken since.
class JobShares {
public:
    JobShares();
    std::int64_t left(Oid role) const;
    void take(Oid role, std::int64_t count = 1);
    // Whether there is no room left for any role.
    bool is_table_full() const { return used_ >= capacity_; }

private:
    struct Share {
        Oid role;
        std::int64_t own;
    };
    void add(Oid role, std::int64_t count);
    std::vector<Share> shares_;  // by role
    std::int64_t capacity_ = 0;
    std::int64_t used_ = 0;
};

// Inspection
// ----------------------------------------------------------------------------------------------

// Returns a copy, or nothing if the worker is not there. A worker that this transaction registers
// is there for this session.
std::optional<WorkerSlot> find_worker(std::int64_t id);

// All workers of this database, registered or ended, in no order.
std::vector<WorkerSlot> list_workers();

WorkerRef reference_to_worker(std::int64_t id);
// place_of_worker() returns the place of a worker, valid as long as it has jobs. worker_at()
// returns the worker at a place; 0: none of this database. Worker 0 stands for any process that
// completes jobs which their handlers left running; its place is the one after the last.
std::optional<std::int32_t> place_of_worker(std::int64_t id);
std::int64_t worker_at(std::int32_t place);

// The best of the given workers that are present, by core::WorkerChoice, and how many are present.
struct ChosenWorker {
    std::optional<std::int64_t> id;
    int present;
    Oid role;  // of the chosen worker
};
// Considers only workers whose role may have one more job.
ChosenWorker choose_worker(std::span<const WorkerRef> workers, const JobShares &shares,
                           std::int64_t avoided = 0);
// How many jobs these workers together may get now, and how many they could get if there were no
// shares.
struct CapacityForJobs {
    std::int64_t shared = 0;
    std::int64_t wanted = 0;
};
CapacityForJobs capacity_for_jobs(std::span<const WorkerRef> workers, JobShares shares);

// Until when one of these workers can get jobs, whether it has room now or not, if it sends no
// further sign of life. Infinity: until something happens to it. Nothing: none of them can.
std::optional<pg::Time> able_until(std::span<const WorkerRef> workers);
core::Candidate candidate_of(const WorkerSlot &slot, const core::HealthLimits &limits,
                             pg::Time now);

// Whether this database has any workers, in whatever state.
bool has_workers_here();

// _PG_init
// ----------------------------------------------------------------------------------------------
extern const memory::Part workers_part;
// Registers the callbacks at the end of transactions. _PG_init calls it once; call inside
// pg::call() only.
void watch_workers();

}  // namespace hipq::workers
