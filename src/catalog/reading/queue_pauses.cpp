// Reads the pauses within a queue from hipq.pause, and its breakers from hipq.breaker_state.
#include "catalog/reading/queue_pauses.hpp"

#include "catalog/reading/read_settled.hpp"
#include "pg/fields.hpp"

namespace hipq::catalog {

namespace {

struct InnerPauseRow {
    std::string job_type;
    std::optional<std::string> throttle_key;
    Pause pause;
};

constexpr std::array inner_pause_fields{
    pg::field<&InnerPauseRow::job_type>("job_type"),
    pg::field<&InnerPauseRow::throttle_key>("throttle_key"),
    pg::field<&InnerPauseRow::pause, &Pause::by>("paused_by"),
    pg::field<&InnerPauseRow::pause, &Pause::since>("paused_time"),
    pg::field<&InnerPauseRow::pause, &Pause::reason>("reason"),
    pg::field<&InnerPauseRow::pause, &Pause::crashes>("crashes"),
    // Tables of 0.2.0 lack this column; the name then refers to the column of `absent`.
    pg::field<&InnerPauseRow::pause, &Pause::until>(
        "(SELECT paused_until FROM (SELECT pause.*) AS present)"),
};

constinit pg::Selection<InnerPauseRow>
    select_inner_pauses(inner_pause_fields,
                        "FROM hipq.pause AS pause "
                        "CROSS JOIN (SELECT NULL::timestamptz AS paused_until) AS absent "
                        "WHERE queue_id = $1 AND job_type IS NOT NULL");

struct OpenBreakerRow {
    std::string job_type;
    OpenBreaker breaker{};
};

constexpr std::array open_breaker_fields{
    pg::field<&OpenBreakerRow::job_type>("job_type"),
    pg::field<&OpenBreakerRow::breaker, &OpenBreaker::change>("change"),
    pg::field<&OpenBreakerRow::breaker, &OpenBreaker::since>("opened_time"),
    pg::field<&OpenBreakerRow::breaker, &OpenBreaker::until>("open_until"),
    pg::field<&OpenBreakerRow::breaker, &OpenBreaker::by>("opened_by"),
    pg::field<&OpenBreakerRow::breaker, &OpenBreaker::reason>("reason"),
};

// A row of change 0 was made only to be locked.
constinit pg::Selection<OpenBreakerRow>
    select_open_breakers(open_breaker_fields,
                         "FROM hipq.breaker_state WHERE queue_id = $1 AND change > 0");

}  // namespace

const QueuePauses::Pauses &QueuePauses::pauses()
{
    if (!pauses_.has_value())
        pauses_ = read_settled(queue_id_, &QueueVersion::pauses, [&] {
            Pauses all;
            for (const pg::Row row : select_inner_pauses.run_latest(queue_id_)) {
                InnerPauseRow inner = select_inner_pauses.read(row);
                if (inner.throttle_key.has_value())
                    all.keys[inner.job_type].emplace(*inner.throttle_key, std::move(inner.pause));
                else
                    all.types.emplace(inner.job_type, std::move(inner.pause));
            }
            if (!has_breakers_)
                return all;
            for (const pg::Row row : select_open_breakers.run_latest(queue_id_)) {
                OpenBreakerRow open = select_open_breakers.read(row);
                all.breakers.emplace(open.job_type, std::move(open.breaker));
            }
            return all;
        });
    return *pauses_;
}

const Pause *QueuePauses::of_type(std::string_view job_type)
{
    const auto &types = pauses().types;
    const auto found = types.find(job_type);
    return found == types.end() ? nullptr : &found->second;
}

std::vector<std::string> QueuePauses::types()
{
    std::vector<std::string> names;
    for (const auto &[name, pause] : pauses().types)
        names.push_back(name);
    return names;
}

const PausedKeys *QueuePauses::of_keys(std::string_view job_type)
{
    const auto &keys = pauses().keys;
    const auto found = keys.find(job_type);
    return found == keys.end() ? nullptr : &found->second;
}

const OpenBreaker *QueuePauses::breaker_of(std::string_view job_type)
{
    const auto &breakers = pauses().breakers;
    const auto found = breakers.find(job_type);
    return found == breakers.end() ? nullptr : &found->second;
}

bool QueuePauses::has_keys()
{
    return !pauses().keys.empty();
}

}  // namespace hipq::catalog
