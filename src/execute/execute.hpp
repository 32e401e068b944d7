// Running handlers: the session, the call, deadlines, cancellation, group durability. Other rooms
// may use these names.
#pragma once

#include "catalog/cache.hpp"
#include "catalog/handler.hpp"
#include "job/claimed_job.hpp"
#include "job/finish.hpp"
#include "pg/error_classes.hpp"
#include "pg/spi.hpp"
#include "pg/transaction.hpp"
#include "retry/retry.hpp"

#include <cstdint>
#include <optional>

namespace hipq::execute {

// ---- attempt ----

// Makes these jobs the ones whose handler runs in this session from now on.
void make_current(const std::optional<catalog::Handler> &handler,
                  std::span<const job::ClaimedJob> jobs);

// The failure of an attempt whose handler raised this error, or does not exist.
job::Failure failure_of(const pg::Error &error);
job::Failure missing_handler();

// The same for a retry handler.
job::Failure retry_failure_of(const pg::Error &error);
job::Failure missing_retry_handler();
job::Failure overdue_retry_handler();

// Concludes after a handler has returned, in its transaction: its jobs are done, or, if the handler
// requested it, its job comes again later (snooze) or stays running (complete_later).
void conclude(const catalog::Queue &queue, std::span<const job::ClaimedJob> jobs,
              std::span<const pg::RawValue> results);

// Call in a transaction, after the handler's (sub)transaction was rolled back. Records the attempt;
// the policy decides, unless a retry handler has to decide. A job that was claimed by lock is
// recorded as running first. If another process found it waiting and changed it meanwhile, this
// attempt has not happened. A handler that may not commit leaves nothing behind: after a conflict
// with another transaction, or a fault of the session, its job runs again, uncharged.
retry::Resolved resolve_attempt(const catalog::Queue &queue, job::ClaimedJob &job,
                                const std::optional<catalog::Handler> &handler,
                                const job::Failure &failure,
                                std::optional<core::Reason> session_fault = std::nullopt);

// ---- attempt log ----

// While an object lives, messages of this process are kept as those of the running handler; the
// server's log shows the same as without it.
class Listening {
public:
    Listening();
    ~Listening();
    Listening(const Listening &) = delete;
    Listening &operator=(const Listening &) = delete;

private:
    int level_before_;  // log_min_messages
};

// The log of an attempt, even if no handler is called. Drops messages of an earlier attempt that
// could not be written. While the object lives, hipq.attempt_log has the value that the job type
// gives, if it gives one. Create it before the handler's transaction or subtransaction and destroy
// it after: a handler's change of the setting is then undone to this value.
class AttemptLog {
public:
    AttemptLog(const catalog::Queue &queue, const job::ClaimedJob &job);
    ~AttemptLog();
    AttemptLog(const AttemptLog &) = delete;
    AttemptLog &operator=(const AttemptLog &) = delete;

private:
    bool before_;
};

// Installs the hook. _PG_init calls it once. Call inside pg::call() only.
void listen_to_handlers();

// ---- bookkeeping ----

// Runs `write` in a transaction of its own, up to three times: a deadlock, for example, is over the
// next time. Returns the error of the last try. Raises an error that is the server's fault.
template <class Write>
std::optional<pg::Error> try_to_write(const Write &write)
{
    constexpr int most_tries = 3;
    std::optional<pg::Error> trouble;
    for (int tries = 0; tries < most_tries; ++tries) {
        try {
            pg::with_transaction(write);
            return std::nullopt;
        } catch (const pg::Error &error) {
            if (!pg::is_fault_of_job(error) || error.sqlerrcode() == ERRCODE_LOCK_NOT_AVAILABLE)
                throw;
            trouble = error;
        }
    }
    return trouble;
}

// ---- temporary objects ----

// Pairs of catalog and OID.
using Objects = std::set<std::pair<Oid, Oid>>;
Objects temporary_objects();

// Drops all temporary objects except `clients`. Raises 42501 if then the objects left are not
// exactly `clients`: some are gone, or one of them has got a trigger, an index or the like.
void drop_temporary_objects_but(const Objects &clients);

// ---- client restrictions ----

// While an object lives, user code runs as the guest of a client, who has these temporary objects.
class Visit {
public:
    explicit Visit(Objects clients_objects);
    ~Visit();
    Visit(const Visit &) = delete;
    Visit &operator=(const Visit &) = delete;
    const Objects &clients_objects() const { return clients_objects_; }

private:
    Objects clients_objects_;
};

bool is_visit();

// Checks a statement that a utility hook sees. During a visit, raises 0A000 for a statement about
// the session.
void check_utility_in_visit(const Node *statement);

// Makes visits check function calls and changes of the client's temporary objects, too. Call once
// per process, inside pg::call() only.
void watch_visits();

// ---- client session ----

// Raises 24000 if a cursor of the client is open, which code of other roles could read by its name:
// "`what` while cursor ...".
void refuse_open_cursors(const char *what);

// Call before the first handler: what the client has deferred to the commit happens now, as it
// would before an executor saw the jobs. Raises what that raises, 42501 for a trigger that defers
// itself again, and 24000 for an open cursor of the client.
void clear_the_way();

// One use of the session by a handler, in a subtransaction.
class HandlerVisit {
public:
    HandlerVisit();  // call before the subtransaction starts

    // Call after the handler. Its deferred triggers fire, until there are none, as the current user
    // in a security-restricted operation, in which PostgreSQL permits no new deferral. Open cursors
    // and temporary objects that the handler leaves are dropped: the client would otherwise meet
    // such an object before its own of the same name. Raises what triggers raise, and 42501 if the
    // client's temporary objects have changed.
    void end() const;

private:
    Visit visit_;
};

// ---- durability ----

// Call in the transaction that is about to commit: its commit does not wait for the disk. Processes
// that wait for the commit learn of it only after a flush: a commit that sends notifications is
// flushed before they go out.
void commit_without_waiting();

// Registers the commit callback. Call once per process.
void prepare_durability();

// ---- run handler ----

// Calls the handler of one job, or a batch handler with several, in the open transaction. Returns
// the result of each job (jsonb, or NULL) in `memory`: a batch handler returns an array of them, or
// one for all. A procedure or a statement such as VACUUM may commit and continue in a new
// transaction. Raises what the handler raises, and 22023 for an array of another length. With
// Starts::counted, records under the rates of the jobs that they start.
enum class Starts : bool { free, counted };
std::vector<pg::RawValue> run_handler(const catalog::Handler &handler,
                                      std::span<const job::ClaimedJob> jobs, MemoryContext memory,
                                      Starts starts = Starts::free);

// Calls a retry handler. Returns the delay in microseconds, or nothing for NULL or no row ("no
// retry"). Raises what the handler raises, 42804 if it returns another type, and 22008 for a delay
// past the last time that PostgreSQL has.
std::optional<std::int64_t> run_retry_handler(const catalog::Handler &handler,
                                              const job::ClaimedJob &job, MemoryContext memory);

// ---- stop overdue ----

// Takes the next step against each overdue job in a database, or (InvalidOid, for the launcher) in
// each database without a scheduler. Returns the microseconds until the next look, at most
// longest_wait.
std::int64_t stop_overdue(Oid database);

}  // namespace hipq::execute
