// Keeps a record for each alert.
//
// A record per alert. A spell ends when an alert has not been noted for a while.
#include "alerts.hpp"

namespace hipq::memory {

namespace {

constexpr std::int64_t spell = 300'000'000;  // us

bool is_present(const AlertRecord &record, pg::Time now)
{
    return record.times > 0 && now < record.last + spell;
}

}  // namespace

void note_alert(Alert alert) noexcept
{
    const pg::Time now{::GetCurrentTimestamp()};
    AlertRecord &record = registry()->alerts[static_cast<std::size_t>(alert)];
    if (!is_present(record, now))
        record = AlertRecord{0, now, now};
    ++record.times;
    record.last = now;
}

void raise_alert(Alert alert) noexcept
{
    const Lock lock(LW_EXCLUSIVE);
    note_alert(alert);
}

std::vector<PresentAlert> present_alerts()
{
    std::vector<PresentAlert> result;
    if (!is_loaded())
        return result;
    std::array<AlertRecord, alert_count> records{};
    {
        const Lock lock(LW_SHARED);
        std::memcpy(static_cast<void *>(records.data()), registry()->alerts, sizeof(records));
    }
    const pg::Time now{::GetCurrentTimestamp()};
    for (std::size_t i = 0; i < alert_count; ++i)
        if (is_present(records[i], now))
            result.push_back({static_cast<Alert>(i), records[i]});
    return result;
}

}  // namespace hipq::memory
