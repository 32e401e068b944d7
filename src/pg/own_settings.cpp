// Implements the scopes of hipq's own settings.
#include "pg/own_settings.hpp"

#include "pg/guard.hpp"

namespace hipq::pg {

namespace {

constinit pg_tz *utc = nullptr;
constinit int lock_patience = 0;  // ms; 0: no limit

pg_tz *known_utc()
{
    if (utc == nullptr)
        utc = call([] { return ::pg_tzset("GMT"); });
    return utc;
}

}  // namespace

PlannerSettings::PlannerSettings()
{
    enable_seqscan = false;
    enable_bitmapscan = false;
    enable_indexscan = true;
    jit_enabled = false;
    plan_cache_mode = PLAN_CACHE_MODE_FORCE_GENERIC_PLAN;
}

PlannerSettings::~PlannerSettings()
{
    enable_seqscan = enable_seqscan_;
    enable_bitmapscan = enable_bitmapscan_;
    enable_indexscan = enable_indexscan_;
    jit_enabled = jit_enabled_;
    plan_cache_mode = plan_cache_mode_;
}

LockPatience::LockPatience(int milliseconds) : before_(lock_patience)
{
    lock_patience = milliseconds;
}

LockPatience::~LockPatience()
{
    lock_patience = before_;
}

OwnSettings::OwnSettings()
{
    pg_tz *const zone = known_utc();
    XactIsoLevel = XACT_READ_COMMITTED;
    XactReadOnly = false;
    LockTimeout = lock_patience;
    SessionReplicationRole = SESSION_REPLICATION_ROLE_ORIGIN;
    DateStyle = USE_ISO_DATES;
    DateOrder = DATEORDER_MDY;
    IntervalStyle = INTSTYLE_POSTGRES;
    extra_float_digits = 1;
    session_timezone = zone;
}

OwnSettings::~OwnSettings()
{
    XactIsoLevel = isolation_level_;
    XactReadOnly = is_read_only_;
    LockTimeout = lock_timeout_;
    SessionReplicationRole = replication_role_;
    DateStyle = date_style_;
    DateOrder = date_order_;
    IntervalStyle = interval_style_;
    extra_float_digits = float_digits_;
    session_timezone = time_zone_;
}

}  // namespace hipq::pg
