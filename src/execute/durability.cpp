// Flushes commits that did not wait for the disk, many at once, and waits for synchronous standbys.
#include "execute/durability.hpp"

#include "pg/compat.hpp"
#include "pg/point.hpp"
#include "pg/replicated.hpp"
#include "pg/transaction.hpp"

extern "C" {
#include "access/xact.h"
#include "access/xlog.h"
#include "storage/lmgr.h"
}

namespace hipq::execute {

namespace {

constexpr std::int64_t flush_interval = 10'000;  // us

constinit bool waits_no_more = false;  // the current transaction
constinit int setting = 0;             // the transaction's own synchronous_commit, while it is off
constinit TimestampTz oldest_unflushed = 0;
constinit XLogRecPtr last_commit = InvalidXLogRecPtr;

void flush()
{
    if (last_commit != InvalidXLogRecPtr)
        pg::wait_until_safe(last_commit);
    last_commit = InvalidXLogRecPtr;
}

// A transaction that notifies holds this lock until its end, so that notifications are in commit
// order.
bool has_notified()
{
    LOCKTAG tag;
    SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, InvalidOid, 0);
    return pg::holds_lock(tag, AccessExclusiveLock);
}

// Runs after the commit record is written, before listeners are notified.
extern "C" void hipq_group_commit(XactEvent event, void *)
{
    if (!waits_no_more || (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT))
        return;
    synchronous_commit = setting;  // the flush waits as this setting says
    waits_no_more = false;
    if (event == XACT_EVENT_ABORT)
        return;
    if (last_commit == InvalidXLogRecPtr)
        oldest_unflushed = ::GetCurrentTimestamp();
    last_commit = XactLastCommitEnd;
    if (has_notified())
        flush();
}

}  // namespace

void prepare_durability()
{
    pg::call([] { ::RegisterXactCallback(hipq_group_commit, nullptr); });
}

void commit_without_waiting()
{
    if (!waits_no_more)
        setting = synchronous_commit;
    waits_no_more = true;
    synchronous_commit = SYNCHRONOUS_COMMIT_OFF;
}

void flush_before_long_job(std::optional<std::int64_t> run_time)
{
    if (last_commit != InvalidXLogRecPtr && (!run_time.has_value() || *run_time >= flush_interval))
        flush_now();
}

void flush_if_due()
{
    if (last_commit != InvalidXLogRecPtr &&
        ::GetCurrentTimestamp() - oldest_unflushed >= flush_interval)
        flush_now();
}

void flush_now()
{
    if (last_commit != InvalidXLogRecPtr)
        HIPQ_POINT("before-group-flush");
    pg::call([] { flush(); });
}

}  // namespace hipq::execute
