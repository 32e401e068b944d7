// Checks options of job types against each other and against those of their queue.
#include "monitor/doctor/findings.hpp"

namespace hipq::monitor {

namespace {

// Returns a row for each rule that a type breaks, and computes its texts only then. Limits below 1
// do not count as limits. Tables of 0.2.0 have no rates.
constexpr const char *rules_sql = R"(
    SELECT type.queue_id, rule.severity, format('job type "%s" of queue "%s"', type.name, type.full_name), rule.finding, rule.detail, rule.hint,
           format('SELECT hipq.alter_job_type(%L, %L, %s)', type.full_name, type.name, rule.change)
    FROM (
        SELECT type.*,
               instance.name || '.' || queue.name AS full_name,
               coalesce(queue.max_timeout, ceil(extract(epoch FROM current_setting('hipq.max_timeout')::interval))::integer) AS longest_timeout,
               coalesce(type.retry_enabled, queue.retry_enabled, current_setting('hipq.retry_enabled')::boolean) AS retries,
               coalesce(type.retry_base, current_setting('hipq.retry_base')::interval) AS first_delay,
               coalesce(type.retry_max, current_setting('hipq.retry_max')::interval) AS longest_delay,
               nullif(greatest(queue.throttle_limit, 0.999), 0.999) AS queue_limit,
               nullif(greatest(type.throttle_limit, 0.999), 0.999) AS type_limit,
               nullif(greatest(type.throttle_limit_per_key, 0.999), 0.999) AS key_limit,
               nullif(to_jsonb(type) ->> 'rate_limit', 'NONE') AS type_rate,
               to_jsonb(type) ->> 'rate_mode' AS type_rate_mode,
               nullif(to_jsonb(queue) ->> 'rate_limit', 'NONE') AS queue_rate,
               to_jsonb(queue) ->> 'rate_mode' AS queue_rate_mode
        FROM hipq.job_type AS type
        JOIN hipq.queue ON queue.queue_id = type.queue_id
        JOIN hipq.instance ON instance.instance_id = queue.instance_id
        WHERE NOT queue.is_dropped AND type.is_registered
    ) AS type
    CROSS JOIN LATERAL (SELECT least(type.queue_limit, type.type_limit, type.key_limit) AS most) AS limits
    CROSS JOIN LATERAL (
        SELECT split_part(type.type_rate, '/', 1)::numeric AS type_weight,
               extract(epoch FROM regexp_replace(split_part(type.type_rate, '/', 2), '^(?=[a-z])', '1 ')::interval) AS type_period,
               split_part(type.queue_rate, '/', 1)::numeric AS queue_weight,
               extract(epoch FROM regexp_replace(split_part(type.queue_rate, '/', 2), '^(?=[a-z])', '1 ')::interval) AS queue_period
    ) AS rate
    -- What the queue lets start in the period of the type. Its exact rate allows that at once, so a smooth rate of the type still counts.
    CROSS JOIN LATERAL (
        SELECT CASE
                   WHEN type.queue_rate_mode = 'smooth' THEN rate.queue_weight * rate.type_period / rate.queue_period
                   WHEN type.type_rate_mode = 'exact' THEN rate.queue_weight * ceil(rate.type_period / rate.queue_period)
               END AS most
    ) AS of_queue
    CROSS JOIN LATERAL (
        SELECT least(
                   CASE WHEN type.type_rate_mode = 'exact' THEN rate.type_weight END,
                   CASE WHEN type.queue_rate_mode = 'exact' THEN rate.queue_weight END
               ) AS most
    ) AS exact_rate
    CROSS JOIN LATERAL (
        SELECT 'warning', 'heavier than the limit',
               format('A job of it weighs %s, and the limit is %s: each runs alone.', trim_scale(type.default_throttle_factor), trim_scale(limits.most)),
               'Make it lighter, or raise the limit.', format('default_throttle_factor => %s', trim_scale(limits.most))
        WHERE type.default_throttle_factor > limits.most
        UNION ALL
        SELECT 'warning', 'limit below 1', format('Its throttle_limit %s limits nothing: below 1 there is no limit.', trim_scale(type.throttle_limit)),
               'Give at least 1, or 0 for none.', 'throttle_limit => 1'
        WHERE type.throttle_limit > 0 AND type.throttle_limit < 1
        UNION ALL
        SELECT 'warning', 'limit below 1', format('Its throttle_limit_per_key %s limits nothing: below 1 there is no limit.', trim_scale(type.throttle_limit_per_key)),
               'Give at least 1, or 0 for none.', 'throttle_limit_per_key => 1'
        WHERE type.throttle_limit_per_key > 0 AND type.throttle_limit_per_key < 1
        UNION ALL
        SELECT 'information', 'limit never reached',
               format('Its throttle_limit %s is higher than that of its queue, %s.', trim_scale(type.type_limit), trim_scale(type.queue_limit)),
               'Lower it, or raise that of the queue.', format('throttle_limit => %s', trim_scale(type.queue_limit))
        WHERE type.type_limit > type.queue_limit
        UNION ALL
        SELECT 'information', 'limit never reached',
               format('Its throttle_limit_per_key %s is higher than the limit of all its jobs, %s.', trim_scale(type.key_limit), trim_scale(least(type.queue_limit, type.type_limit))),
               'Lower it, or raise the others.', format('throttle_limit_per_key => %s', trim_scale(least(type.queue_limit, type.type_limit)))
        WHERE type.key_limit > least(type.queue_limit, type.type_limit)
        UNION ALL
        SELECT 'warning', 'heavier than the rate',
               format('A job of it weighs %s, and rate_limit allows %s in its period: each exceeds the rate by itself.', trim_scale(type.default_throttle_factor), trim_scale(exact_rate.most)),
               'Make it lighter, or raise rate_limit.', format('default_throttle_factor => %s', trim_scale(exact_rate.most))
        WHERE type.default_throttle_factor > exact_rate.most
        UNION ALL
        SELECT 'information', 'rate never reached',
               format('Its rate_limit %s is higher than that of its queue, %s.', type.type_rate, type.queue_rate),
               'Lower it, or raise that of the queue.', format('rate_limit => %L', type.queue_rate)
        WHERE rate.type_weight > of_queue.most
        UNION ALL
        SELECT 'warning', 'timeout is cut',
               format('Its default_timeout %s s is longer than its queue allows, %s s, which its jobs get.', type.default_timeout, type.longest_timeout),
               'Make it shorter, or raise max_timeout of the queue.', format('default_timeout => ''%s s''', type.longest_timeout)
        WHERE type.default_timeout > type.longest_timeout
        UNION ALL
        SELECT 'warning', 'delay is cut',
               format('Its retry_base %s is longer than its retry_max %s, which every delay gets.', type.first_delay, type.longest_delay),
               'Make it shorter, or the other one longer.', format('retry_max => %L', type.first_delay)
        WHERE type.first_delay > type.longest_delay AND (type.retry_base IS NOT NULL OR type.retry_max IS NOT NULL)
        UNION ALL
        SELECT 'warning', 'retries are off',
               format('Its max_retries is %s, and retries are switched off, by it, its queue or hipq.retry_enabled.', type.max_retries),
               'Switch them on, or set max_retries to 0.', 'retry_enabled => true'
        WHERE type.max_retries > 0 AND NOT type.retries
        UNION ALL
        SELECT 'warning', 'contradicting rules',
               format('It names in retry_on and in do_not_retry_on: %s.', (SELECT string_agg(both_name, ', ') FROM unnest(type.retry_on) AS both_name WHERE both_name = ANY (type.do_not_retry_on))),
               'Leave one out.',
               format('retry_on => %L', (SELECT coalesce(array_agg(kept), '{}') FROM unnest(type.retry_on) AS kept WHERE kept <> ALL (type.do_not_retry_on)))
        WHERE type.retry_on && type.do_not_retry_on
    ) AS rule (severity, finding, detail, hint, change)
    ORDER BY type.full_name, type.name, rule.finding)";

}  // namespace

std::span<const SqlCheck> job_type_checks()
{
    static constexpr SqlCheck checks[] = {{"options of job types", rules_sql}};
    return checks;
}

}  // namespace hipq::monitor
