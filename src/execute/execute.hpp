// Running handlers: the session, the call, deadlines, cancellation, group durability. What other
// rooms may use.
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

// These are the jobs whose handler runs in this session from now on.
void make_current(const std::optional<catalog::Handler> &handler,
                  std::span<const job::ClaimedJob> jobs);

// How an attempt failed whose handler raised that error, or was not there.
job::Failure failure_of(const pg::Error &error);
job::Failure missing_handler();

// The same of a retry handler.
job::Failure retry_failure_of(const pg::Error &error);
job::Failure missing_retry_handler();
job::Failure overdue_retry_handler();

// What a handler that has returned leaves behind: its jobs are done, or, because it has asked for
// that, its job comes again later or stays running. In its transaction.
void conclude(const catalog::Queue &queue, std::span<const job::ClaimedJob> jobs,
              std::span<const pg::RawValue> results);

// After the handler's (sub)transaction was rolled back: the attempt is recorded, and the policy
// decides, unless a retry handler is to be asked. A job that was claimed by lock is recorded first,
// unless somebody else, who found it waiting, has changed it meanwhile: then this attempt has not
// happened. A handler that may not commit leaves nothing: the job runs again, uncharged, after a
// conflict with another transaction and after a fault of the session. Needs a transaction.
retry::Resolved resolve_attempt(const catalog::Queue &queue, job::ClaimedJob &job,
                                const std::optional<catalog::Handler> &handler,
                                const job::Failure &failure,
                                std::optional<core::Reason> session_fault = std::nullopt);

// ---- attempt log ----

// While it lives, messages of this process are kept as those of the handler that runs; what the
// server's log shows stays the same.
class Listening {
public:
    Listening();
    ~Listening();
    Listening(const Listening &) = delete;
    Listening &operator=(const Listening &) = delete;

private:
    int level_before_;  // log_min_messages
};

// The log of an attempt, whether it comes to a handler or not. What one before has said and nobody
// could write down is forgotten. While it lives, hipq.attempt_log is what the type of the job says,
// if that says anything. It begins before the handler's transaction or subtransaction and ends
// after it: what a handler sets the setting to is put back to this value then.
class AttemptLog {
public:
    AttemptLog(const catalog::Queue &queue, const job::ClaimedJob &job);
    ~AttemptLog();
    AttemptLog(const AttemptLog &) = delete;
    AttemptLog &operator=(const AttemptLog &) = delete;

private:
    bool before_;
};

// Installs the hook; called once by _PG_init. PostgreSQL regime.
void listen_to_handlers();

// ---- bookkeeping ----

// Runs `write` in a transaction of its own, a few times if need be: a deadlock, say, is over the
// next time. Returns the error that was against it to the last. Raises one that is the server's.
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

// Catalogue and number.
using Objects = std::set<std::pair<Oid, Oid>>;
Objects temporary_objects();

// Drops what is not among these. Raises 42501 when then it is not these that are left: some are
// gone, or one of them has got a trigger, an index or the like.
void drop_temporary_objects_but(const Objects &clients);

// ---- client restrictions ----

// While one lives, user code runs as the guest of a client whose temporary objects these are.
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

// A statement that a utility hook sees. Raises 0A000 during a visit for one that is about the
// session.
void check_utility_in_visit(const Node *statement);

// Has functions, and changes of the client's temporary objects, checked too. PostgreSQL regime;
// once per process.
void watch_visits();

// ---- client session ----

// Raises 24000 for an open cursor of the client's, which other roles' code could read by its name:
// "`what` while cursor ...".
void refuse_open_cursors(const char *what);

// Before the first handler: what the client has put off until the commit happens now, as it would
// before an executor saw the jobs. Raises what it raises; 42501 for a trigger that puts itself off
// again, 24000 for an open cursor of the client's.
void clear_the_way();

// One use of the session by a handler, in a subtransaction.
class HandlerVisit {
public:
    HandlerVisit();  // before it starts

    // After it: its deferred triggers fire, until there are none, as the current user in a
    // security-restricted operation, in which PostgreSQL lets nothing be put off anew; and what it
    // leaves behind is gone: open cursors, and temporary objects, which the client would otherwise
    // meet before his own of the same name. Raises what triggers raise, and 42501 where the
    // client's temporary objects are not as before.
    void end() const;

private:
    Visit visit_;
};

// ---- durability ----

// In the transaction that is about to commit: it does not wait for the disk. What waits for it is
// told of it only after a flush: a commit that sends notifications is flushed before they go out.
void commit_without_waiting();

// Registers the commit callback. Once per process. C++ regime.
void prepare_durability();

// ---- run handler ----

// Calls the handler of one job, or a batch handler with several, in the open transaction. Returns
// the result of each (jsonb, or NULL) in `memory`: a batch handler gives an array of them, or one
// for all. A procedure or a statement such as VACUUM may commit and go on in a new transaction.
// Raises what the handler raises, and 22023 for an array of another length.
std::vector<pg::RawValue> run_handler(const catalog::Handler &handler,
                                      std::span<const job::ClaimedJob> jobs, MemoryContext memory);

// Calls a retry handler: the delay in microseconds, or nothing for NULL or no row ("no retry").
// Raises what it raises, 42804 if it gives something else, and 22008 for a delay past the last time
// that there is.
std::optional<std::int64_t> run_retry_handler(const catalog::Handler &handler,
                                              const job::ClaimedJob &job, MemoryContext memory);

// ---- stop overdue ----

// Takes the next step with each of them in a database, or (InvalidOid, for the launcher) wherever
// no scheduler does. Returns in how many microseconds to look again, at most longest_wait.
std::int64_t stop_overdue(Oid database);

}  // namespace hipq::execute
