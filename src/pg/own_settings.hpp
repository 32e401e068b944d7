// Applies hipq's own settings while its bookkeeping runs in the session of a role that may have
// others.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "jit/jit.h"
#include "optimizer/cost.h"
#include "utils/float.h"
}

namespace hipq::pg {

// The classes write PostgreSQL's variables directly, at no cost. So during their lifetime there
// must be no reload of settings, and no SET except a SET LOCAL that ends within it.

// While an object of this class lives, statements are planned once for all parameters, and plans
// use indexes wherever there are some. The planner prefers a sequential scan while a queue is
// empty, and keeps it when the queue fills; and in a serializable transaction it would make each
// job's finish depend on every other's. For functions that clients call often: planning would be
// most of the work.
class PlannerSettings {
public:
    PlannerSettings();
    ~PlannerSettings();
    PlannerSettings(const PlannerSettings &) = delete;
    PlannerSettings &operator=(const PlannerSettings &) = delete;

private:
    bool enable_seqscan_ = enable_seqscan;
    bool enable_bitmapscan_ = enable_bitmapscan;
    bool enable_indexscan_ = enable_indexscan;
    bool jit_enabled_ = jit_enabled;
    int plan_cache_mode_ = plan_cache_mode;
};

// While an object of this class lives, hipq's own transactions in this process wait at most the
// given time for a lock.
class LockPatience {
public:
    explicit LockPatience(int milliseconds);
    ~LockPatience();
    LockPatience(const LockPatience &) = delete;
    LockPatience &operator=(const LockPatience &) = delete;

private:
    int before_;
};

// While an object of this class lives, settings of a role or database do not affect hipq: isolation
// level, read-only mode, timeouts, replication role, time zone, formats of dates and numbers,
// planner methods. (as_extension_owner() handles search_path and privileges.) Afterwards user code
// finds everything as it was, also with SHOW.
class OwnSettings {
public:
    OwnSettings();
    ~OwnSettings();
    OwnSettings(const OwnSettings &) = delete;
    OwnSettings &operator=(const OwnSettings &) = delete;

private:
    int isolation_level_ = XactIsoLevel;
    bool is_read_only_ = XactReadOnly;
    int lock_timeout_ = LockTimeout;
    int replication_role_ = SessionReplicationRole;
    int date_style_ = DateStyle;
    int date_order_ = DateOrder;
    int interval_style_ = IntervalStyle;
    int float_digits_ = extra_float_digits;
    pg_tz *time_zone_ = session_timezone;
    PlannerSettings planner_;
};

}  // namespace hipq::pg
