// hipq's own settings, while its bookkeeping runs in the session of a role that may have others.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#include "jit/jit.h"
#include "optimizer/cost.h"
#include "utils/float.h"
}

namespace hipq::pg {

// Both write PostgreSQL's variables directly, at no cost. So no reload of settings and no SET but a
// SET LOCAL that ends in their life.

// While one lives, statements are planned once for all parameters, and plans use indexes wherever
// there are some. A sequential scan is what the planner likes while a queue is empty, and keeps
// when it is not; and in a serializable transaction it would make each job's finish depend on every
// other's. For what clients call often: planning would be most of its work.
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

// While one lives, hipq's own transactions in this process wait for no lock longer than that.
class LockPatience {
public:
    explicit LockPatience(int milliseconds);
    ~LockPatience();
    LockPatience(const LockPatience &) = delete;
    LockPatience &operator=(const LockPatience &) = delete;

private:
    int before_;
};

// While one lives, what a role or database may set does not reach what hipq does: isolation level,
// read-only mode, timeouts, replication role, time zone, the forms of dates and numbers, the
// planner's means. (search_path and rights: as_extension_owner().) What user code finds afterwards,
// SHOW included, is as it was.
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
