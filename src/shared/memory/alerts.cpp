// Keeps one record per alert in shared memory.
//
// Occurrences of an alert form a spell. An occurrence more than five minutes after the previous one
// starts a new spell.
#include "shared/memory/alerts.hpp"

#include "shared/memory/shared_struct.hpp"
#include "shared/memory/tranche.hpp"

namespace hipq::memory {

namespace {

constexpr std::int64_t spell = 300'000'000;  // us

struct Alerts {
    AlertRecord records[alert_count];
};
constinit Alerts *alerts = nullptr;
constinit Tranche alerts_tranche{"HipqAlerts", LockRank::alerts};

bool is_present(const AlertRecord &record, pg::Time now)
{
    return record.times > 0 && now < record.last + spell;
}

}  // namespace

void raise_alert(Alert alert) noexcept
{
    raise_alert(alert, MyDatabaseId);
}

void raise_alert(Alert alert, Oid database) noexcept
{
    const pg::Time now{::GetCurrentTimestamp()};
    const TrancheLock lock(alerts_tranche, LW_EXCLUSIVE);
    AlertRecord &record = alerts->records[static_cast<std::size_t>(alert)];
    if (!is_present(record, now))
        record = AlertRecord{database, 0, now, now};
    record.database = database;
    ++record.times;
    record.last = now;
}

std::vector<PresentAlert> present_alerts()
{
    std::vector<PresentAlert> result;
    if (!is_loaded())
        return result;
    std::array<AlertRecord, alert_count> records{};
    {
        const TrancheLock lock(alerts_tranche, LW_SHARED);
        std::memcpy(static_cast<void *>(records.data()), alerts->records, sizeof(records));
    }
    const pg::Time now{::GetCurrentTimestamp()};
    for (std::size_t i = 0; i < alert_count; ++i)
        if (is_present(records[i], now))
            result.push_back({static_cast<Alert>(i), records[i]});
    return result;
}

namespace {

void request_alerts()
{
    ::RequestAddinShmemSpace(sizeof(Alerts));
    alerts_tranche.request();
}

void set_up_alerts()
{
    alerts = shared_struct<Alerts>("hipq alerts");
    alerts_tranche.set_up();
}

}  // namespace

constinit const Part alerts_part{request_alerts, set_up_alerts};

}  // namespace hipq::memory
