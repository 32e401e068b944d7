// External workers in shared memory: who is there, what each has in flight, how it has done.
//
// A cache of table hipq.worker with what only the running server knows: sessions, heartbeats,
// counts. After a restart the table fills it again (catalog/worker_rows.hpp) and every worker is
// unknown until it is heard of; sessions that a worker was bound to are gone. It has a lock of its
// own, held for straight-line code only. Workers are found by their database and number; numbers
// are those of the current database unless one is given.
#pragma once

#include "core/workers/worker_choice.hpp"
#include "shared/memory/registry.hpp"

namespace hipq::workers {

enum class WorkerState : unsigned char { free, registering, present, ended };

struct WorkerSlot {
    std::int64_t id;  // hipq.worker.worker_id
    Oid database;
    Oid role;
    WorkerState state;
    bool is_draining;
    bool is_successor;  // until its transaction ends: it takes the place of one that departs in the
                        // same
    bool has_departed;  // deregistered or taken over: it stays for the jobs that it still has
    std::int32_t next;  // in its bucket
    std::uint32_t generation;
    int pid;      // of the session it is bound to; 0: none
    int process;  // its PGPROC number, or no_process
    int waiting;  // the same of a session that waits for jobs on its behalf
    int capacity;
    int prefetch;
    int running;                 // jobs accepted; those dispatched: record.depth
    std::size_t claimed_places;  // of its capacity, by claims of open transactions
    std::uint64_t last_chosen;
    pg::Time registered;
    pg::Time heartbeat;  // the last one; -infinity: none since the server started
    pg::Time turned;     // when what it says of itself made it unhealthy, or not so any more;
                         // -infinity: never
    pg::Time ended;      // when its session ended, or it was deregistered with jobs in flight
    core::WorkerRecord record;
    char name[64];
};
static_assert(std::is_trivially_copyable_v<WorkerSlot>);

inline constexpr pg::Time never{std::numeric_limits<std::int64_t>::min()};

// What is known of a worker when it is registered, or read from the table.
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

// A worker, and where it probably is in the table: so that a thousand are found without a search
// each.
struct WorkerRef {
    std::int64_t id;
    std::int32_t place;
};

// The limits that the settings say.
core::HealthLimits health_limits();

// Coming and going: transaction.cpp, recall.cpp
// ----------------------------------------------------------------------------------------------

// Takes a place for a worker that this transaction registers, bound to this session or not. It is
// present when the transaction has committed; a rollback, of a savepoint too, leaves nothing. One
// that succeeds another, which departs in this transaction, takes the place of that one; others
// need one in the share of their role.
enum class Registered : unsigned char { yes, too_often, no_share, no_capacity };
Registered register_worker(const NewWorker &worker, std::optional<std::int64_t> predecessor);

// When this transaction has committed: the worker is gone. With jobs in flight it stays, as ended,
// until they are taken from it.
void note_departure(std::int64_t id);

// When this transaction has committed: the worker is given no more jobs.
void note_draining(std::int64_t id);

// When this transaction has committed: this session listens no more, so the workers bound to it
// have ended.
void note_end_of_listening();

// Adds a worker that table hipq.worker has, as of before a restart; one that is there already stays
// as it is. False: no room.
bool recall_worker(const NewWorker &worker);

// Whether all workers of this database have been read from the table since the server started; how
// often workers have come or gone for good so far, in the whole server. recalled() is true only if
// none has since that number was read.
bool are_recalled();
std::uint64_t worker_changes();
bool workers_recalled(std::uint64_t changes);

// Frees the place of a worker that has ended, when nothing is left to be done about it.
void remove_worker(std::int64_t id) noexcept;

// The sessions that this process was bound to as a worker are over: at its end, or when it stops to
// listen.
void end_own_workers() noexcept;

// Whether this session is one that a worker is bound to.
bool has_own_workers();

// What dispatch tells (dispatch.cpp); each does nothing for a worker that is not there, and cannot
// fail
// ----------------------------------------------------------------------------------------------

enum class Holding : unsigned char { dispatched, accepted };

// It has one more; where it is then, as long as it has any, and whether that is a probe. Nothing:
// it is not there, has ended, or may not be given one any more.
struct Choice {
    WorkerRef worker;
    bool is_probe;
};
std::optional<Choice> note_dispatched(std::int64_t id) noexcept;
// That was not given to it after all.
void note_not_given(const Choice &choice) noexcept;
void note_accepted(std::int64_t id) noexcept;  // what was dispatched; a sign of life
// An accepted job has ended.
void note_finished(std::int64_t id, core::Execution execution, std::int64_t run_time,
                   bool was_probe) noexcept;
// A dispatched one was not accepted in time.
void note_expired(std::int64_t id) noexcept;
// It has one less, and nobody is to blame: released, cancelled, drained.
void note_returned(std::int64_t id, Holding holding) noexcept;
// It has had one that nobody has counted.
void note_held(std::int64_t id, Holding holding) noexcept;
// What it has in flight, when that was counted anew.
void note_in_flight(std::int64_t id, int dispatched, int accepted) noexcept;
// A sign of life, with what it says of itself or without. False: it is not there.
bool note_heartbeat(std::int64_t id, const core::SelfReport *report) noexcept;
// Scheduler: starts the clocks of workers that time or settings have made unhealthy.
void keep_probe_clocks() noexcept;

// This process waits for jobs of that worker, or not any more. Where several do, the last one is
// woken.
void note_waiting_for_jobs(std::int64_t id) noexcept;
void note_end_of_waiting(std::int64_t id) noexcept;
// It has been given a job.
void wake_waiting_worker(const WorkerRef &worker) noexcept;

// Claims of several sessions at once (places.cpp)
// ----------------------------------------------------------------------------------------------

// This transaction is about to accept so many of its jobs at most: until it has ended, or gives
// them back, others do not count on those places. Returns how many of its places other transactions
// have taken so. For what it runs, look afterwards.
std::size_t take_places(std::int64_t id, std::size_t count);
// Of those taken last so many are not needed.
void give_back_places(std::int64_t id, std::size_t count) noexcept;

// Job types whose jobs no worker can be given (unserved_types.cpp), for the scheduler, who looks
// again and again while jobs are due
// ----------------------------------------------------------------------------------------------

// Since when that is so, as far as anybody has seen: from this call on, if nobody has asked within
// a minute. The scheduler may have been another one meanwhile.
pg::Time unserved_since(int queue_id, std::string_view job_type);
// It is not so, or not for want of a worker.
void note_served(int queue_id, std::string_view job_type) noexcept;
// Of a queue; of this database.
void note_queue_served(int queue_id) noexcept;
void note_all_served() noexcept;
// The queues of this database with such types.
std::set<int> unserved_queues();

// Shares in the table of jobs in flight (role_shares.cpp)
// ----------------------------------------------------------------------------------------------

// How many more jobs the workers of each role may have in flight, in the whole server: as of when
// this was made, and less what was taken of it since.
class JobShares {
public:
    JobShares();
    std::int64_t left(Oid role) const;
    void take(Oid role, std::int64_t count = 1);
    // There is nothing left for anybody.
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

// Looking
// ----------------------------------------------------------------------------------------------

// A copy; nothing if it is not there. One that this transaction registers is there for this
// session.
std::optional<WorkerSlot> find_worker(std::int64_t id);

// All of this database, registered or ended, in no order.
std::vector<WorkerSlot> list_workers();

WorkerRef reference_to_worker(std::int64_t id);
// The place of one that is there, as long as it has jobs; and back, 0: there is none of this
// database. Worker 0, whoever completes jobs that their handlers have left running, has the place
// after the last one.
std::optional<std::int32_t> place_of_worker(std::int64_t id);
std::int64_t worker_at(std::int32_t place);

// The best of the workers named that are present, as core::WorkerChoice says, and how many of them
// are.
struct ChosenWorker {
    std::optional<std::int64_t> id;
    int present;
    Oid role;  // of the one that was chosen
};
// Of those whose role may have one more job.
ChosenWorker choose_worker(std::span<const WorkerRef> workers, const JobShares &shares,
                           std::int64_t avoided = 0);
// How many jobs these workers may be given now, together; and how many if there were no shares.
struct CapacityForJobs {
    std::int64_t shared = 0;
    std::int64_t wanted = 0;
};
CapacityForJobs capacity_for_jobs(std::span<const WorkerRef> workers, JobShares shares);

// Until when one of these workers can be given jobs, whether it has room or not, unless it is heard
// of again; infinity: as long as nothing happens to it. Nothing: none can.
std::optional<pg::Time> able_until(std::span<const WorkerRef> workers);
core::Candidate candidate_of(const WorkerSlot &slot, const core::HealthLimits &limits,
                             pg::Time now);

// Whether there are workers of this database in any state.
bool has_workers_here();

// _PG_init
// ----------------------------------------------------------------------------------------------
extern const memory::Part workers_part;
// Registers the callbacks at the end of transactions; called once by _PG_init. PostgreSQL regime.
void watch_workers();
void watch_worker_places();

}  // namespace hipq::workers
