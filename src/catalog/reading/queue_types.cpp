// Reads job types from hipq.job_type.
//
// Each field of the query is listed next to the member that it fills. A member whose field is NULL
// keeps the value of the settings.
#include "catalog/reading/queue_types.hpp"

#include "catalog/job_parameters.hpp"
#include "catalog/reading/read_catalogue.hpp"
#include "catalog/reading/read_settled.hpp"
#include "core/limits/breaker_text.hpp"
#include "pg/fields.hpp"
#include "settings.hpp"

namespace hipq::catalog {

namespace {

using pg::field;
using pg::Value;

struct JobTypeRow {
    JobType type;
    pg::RawValue parameters{JSONBOID, Datum{0}, true};  // NULL: the type declares none
    bool checks_at_start;
};

template <auto... path>
constexpr pg::Field<JobTypeRow> type_field(const char *expression)
{
    return field<&JobTypeRow::type, path...>(expression);
}

// Splits a list joined with commas. Entries contain no commas (core::is_valid_rule).
std::vector<std::string> split(std::string_view list)
{
    std::vector<std::string> entries;
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        entries.emplace_back(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return entries;
}

void fill_handler_kind(JobTypeRow &row, const Value &value)
{
    row.type.handler_kind = parse_handler_kind(value.text());
}

void fill_retry_on(JobTypeRow &row, const Value &value)
{
    row.type.retry_on = split(value.text());
}

void fill_do_not_retry_on(JobTypeRow &row, const Value &value)
{
    row.type.do_not_retry_on = split(value.text());
}

void fill_claim(JobTypeRow &row, const Value &value)
{
    row.type.claim = core::parse_claim_rule(value.text()).value_or(core::ClaimRule::automatic);
}

void fill_type_rate(JobTypeRow &row, const Value &value)
{
    fill_rate(row.type.rate, value.text());
}

void fill_type_rate_per_key(JobTypeRow &row, const Value &value)
{
    fill_rate(row.type.rate_per_key, value.text());
}

void fill_type_rate_mode(JobTypeRow &row, const Value &value)
{
    fill_rate_mode(row.type.rate, value.text());
    fill_rate_mode(row.type.rate_per_key, value.text());
}

void fill_breaker(JobTypeRow &row, const Value &value)
{
    const auto parsed = core::parse_breaker(value.text());  // 'NONE' is none
    if (const auto *present = std::get_if<core::BreakerRule>(&parsed))
        row.type.breaker = *present;
}

using TypeField = pg::Field<JobTypeRow>;

constexpr std::array job_type_fields{
    type_field<&JobType::queue_id>("queue_id"),
    type_field<&JobType::name>("name"),
    type_field<&JobType::handler>("handler"),
    TypeField{"handler_kind", fill_handler_kind},
    type_field<&JobType::retry_handler>("retry_handler"),
    type_field<&JobType::default_timeout>("default_timeout"),
    type_field<&JobType::default_priority>("default_priority"),
    type_field<&JobType::default_throttle_factor>("default_throttle_factor::text"),
    type_field<&JobType::default_time_windows>("default_time_windows::text"),
    type_field<&JobType::max_retries>("max_retries"),
    type_field<&JobType::policy, &core::RetryPolicy::base>(HIPQ_MICROSECONDS("retry_base")),
    type_field<&JobType::policy, &core::RetryPolicy::multiplier>("retry_multiplier"),
    type_field<&JobType::policy, &core::RetryPolicy::max>(HIPQ_MICROSECONDS("retry_max")),
    type_field<&JobType::policy, &core::RetryPolicy::jitter>("retry_jitter"),
    TypeField{"array_to_string(retry_on, ',')", fill_retry_on},
    TypeField{"array_to_string(do_not_retry_on, ',')", fill_do_not_retry_on},
    type_field<&JobType::fails_without_handler>("on_missing_handler = 'fail'"),
    type_field<&JobType::queue_ttl>("queue_ttl"),
    TypeField{"claim", fill_claim},
    type_field<&JobType::batch_size>("batch_size"),
    type_field<&JobType::throttle_limit>("(throttle_limit * 1000)::bigint"),
    type_field<&JobType::throttle_limit_per_key>("(throttle_limit_per_key * 1000)::bigint"),
    // Tables of 0.2.0 lack these columns; the names then refer to the columns of `absent`.
    TypeField{"(SELECT rate_limit FROM (SELECT job_type.*) AS present)", fill_type_rate},
    TypeField{"(SELECT rate_limit_per_key FROM (SELECT job_type.*) AS present)",
              fill_type_rate_per_key},
    TypeField{"(SELECT rate_mode FROM (SELECT job_type.*) AS present)", fill_type_rate_mode},
    TypeField{"(SELECT breaker FROM (SELECT job_type.*) AS present)", fill_breaker},
    type_field<&JobType::time_zone>("time_zone"),
    type_field<&JobType::worker_wait_ttl>("worker_wait_ttl"),
    type_field<&JobType::is_registered>("is_registered"),
    type_field<&JobType::retry_enabled>("retry_enabled"),
    type_field<&JobType::attempt_log>("attempt_log"),
    field<&JobTypeRow::parameters>("nullif(parameters, '{}')"),
    field<&JobTypeRow::checks_at_start>("validate = 'run'"),
};

#define HIPQ_FROM_JOB_TYPES                                                                        \
    "FROM hipq.job_type CROSS JOIN "                                                               \
    "(SELECT NULL AS rate_limit, NULL AS rate_limit_per_key, NULL AS rate_mode, "                  \
    "NULL AS breaker) AS absent "                                                                  \
    "WHERE queue_id = $1"

constinit pg::Selection<JobTypeRow> select_job_type(job_type_fields,
                                                    HIPQ_FROM_JOB_TYPES " AND name = $2");
constinit pg::Selection<JobTypeRow> select_job_types(job_type_fields, HIPQ_FROM_JOB_TYPES);

JobType type_by_settings()
{
    JobType type{};
    type.default_timeout = settings::default_timeout.whole_seconds();
    type.policy = default_policy();
    type.claim = core::ClaimRule::automatic;
    return type;
}

JobType read_job_type(const pg::Row &row)
{
    JobTypeRow whole{};
    whole.type = type_by_settings();
    select_job_types.fill(whole, row);
    if (!whole.parameters.null)
        whole.type.parameters = read_job_parameters(whole.parameters.value, whole.checks_at_start);
    return std::move(whole.type);
}

// The most names of missing types to cache: about as many as a queue can have unregistered at once.
// An enqueuer may try any number of names.
constexpr std::size_t most_absent = 1'000;

constexpr std::array type_facts_fields{
    field<&TypeFacts::unregistered>("count(*) FILTER (WHERE NOT is_registered)"),
    field<&TypeFacts::has_handlers>("bool_or(handler_kind NOT IN ('none', 'notify'))"),
    field<&TypeFacts::has_others>("bool_or(handler_kind IN ('none', 'notify'))"),
    field<&TypeFacts::has_limits>("bool_or(throttle_limit >= 1 OR throttle_limit_per_key >= 1)"),
};
constinit pg::Selection<TypeFacts> select_type_facts(type_facts_fields,
                                                     "FROM hipq.job_type WHERE queue_id = $1");

}  // namespace

core::RetryPolicy default_policy()
{
    return {settings::retry_base.microseconds(), settings::retry_multiplier,
            settings::retry_max.microseconds(), settings::retry_jitter};
}

const JobType *QueueTypes::find(std::string_view name)
{
    if (const auto known = known_.find(name); known != known_.end())
        return &known->second;
    if (is_whole_ || absent_.contains(name))
        return nullptr;
    auto type = read_settled(queue_id_, &QueueVersion::types, [&] {
        const pg::Rows rows = select_job_type.run_latest(queue_id_, name);
        return rows.empty() ? std::nullopt : std::optional(read_job_type(rows.front()));
    });
    if (type.has_value())
        return &known_.emplace(name, std::move(*type)).first->second;
    if (absent_.size() >= most_absent)
        absent_.clear();
    absent_.emplace(name);
    return nullptr;
}

const JobTypes &QueueTypes::all()
{
    if (!is_whole_) {
        JobTypes types = read_settled(queue_id_, &QueueVersion::types, [&] {
            JobTypes all;
            for (const pg::Row row : select_job_types.run_latest(queue_id_)) {
                JobType type = read_job_type(row);
                std::string name = type.name;
                all.emplace(std::move(name), std::move(type));
            }
            return all;
        });
        known_.merge(types);
        is_whole_ = true;
    }
    return known_;
}

const TypeFacts &QueueTypes::facts()
{
    if (!facts_.has_value())
        facts_ = read_settled(queue_id_, &QueueVersion::types, [&] {
            return select_type_facts.read(select_type_facts.run_latest(queue_id_).front());
        });
    return *facts_;
}

}  // namespace hipq::catalog
