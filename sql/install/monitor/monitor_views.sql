-- Views of executors, lanes, limits, sizes and alerts.

-- The number of a queue has a meaning only in its own database: rows of other databases show no
-- queue, and only pg_monitor sees them.
CREATE VIEW hipq.executors_detail WITH (security_barrier) AS
SELECT executor.pid,
       executor.database_name AS database,
       pg_get_userbyid(executor.role) AS role,
       executor.status,
       executor.started_time,
       queue.name AS queue,
       executor.job_id,
       executor.attempt,
       executor.job_type,
       executor.job_started_time,
       executor.jobs_done
FROM (
    SELECT every_executor.*,
           pg_database.datname AS database_name,
           pg_database.datname = current_database() AS is_here
    FROM hipq._executors() AS every_executor
    LEFT JOIN pg_database ON pg_database.oid = every_executor.database
) AS executor
LEFT JOIN hipq._visible_queue AS queue ON executor.is_here AND queue.queue_id = executor.queue_id;
COMMENT ON VIEW hipq.executors_detail
    IS 'executors: the processes of the server that run SQL handlers';
COMMENT ON COLUMN hipq.executors_detail.pid IS 'process, as in pg_stat_activity';
COMMENT ON COLUMN hipq.executors_detail.database
    IS 'database it is connected to; others are shown to pg_monitor only';
COMMENT ON COLUMN hipq.executors_detail.role IS 'queue owner it is connected as';
COMMENT ON COLUMN hipq.executors_detail.status
    IS 'requested, starting, idle, running, unresponsive (does not react to SIGTERM), or ended '
    '(its job is being rescued)';
COMMENT ON COLUMN hipq.executors_detail.started_time IS 'when it was started';
COMMENT ON COLUMN hipq.executors_detail.queue
    IS 'queue of the job it runs; NULL = none, or in another database';
COMMENT ON COLUMN hipq.executors_detail.job_id IS 'job it runs';
COMMENT ON COLUMN hipq.executors_detail.attempt IS 'attempt of the job it runs';
COMMENT ON COLUMN hipq.executors_detail.job_type IS 'type of the job it runs';
COMMENT ON COLUMN hipq.executors_detail.job_started_time IS 'when the job it runs started';
COMMENT ON COLUMN hipq.executors_detail.jobs_done IS 'jobs it has run so far';

CREATE VIEW hipq.throttle_keys WITH (security_barrier) AS
SELECT queue.name AS queue,
       job.job_type,
       job.throttle_key,
       max(job_type.throttle_limit_per_key) FILTER (WHERE job_type.throttle_limit_per_key >= 1)
           AS throttle_limit_per_key,
       sum(job.throttle_factor) AS throttle_used,
       count(*) AS running_jobs
FROM hipq._running_jobs() AS executor
CROSS JOIN LATERAL (
    SELECT executor.queue_id,
           found.job_type COLLATE "C" AS job_type,
           found.throttle_key COLLATE "C" AS throttle_key,
           found.throttle_factor
    FROM hipq._unfinished_job(executor.queue_id, executor.job_id) AS found
    WHERE found.throttle_key <> 'NONE'
) AS job
JOIN hipq._visible_queue AS queue ON queue.queue_id = job.queue_id
LEFT JOIN (
    SELECT job_type.queue_id, job_type.name, job_type.throttle_limit_per_key
    FROM hipq.job_type
    WHERE job_type.queue_id = ANY (hipq._visible_queues())
    OFFSET 0
) AS job_type ON job_type.queue_id = job.queue_id AND job_type.name = job.job_type
GROUP BY queue.name, job.job_type, job.throttle_key;
COMMENT ON VIEW hipq.throttle_keys
    IS 'throttle keys of jobs that run or are offered to external workers';
COMMENT ON COLUMN hipq.throttle_keys.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.throttle_keys.job_type
    IS 'job type; keys of different types are different keys';
COMMENT ON COLUMN hipq.throttle_keys.throttle_key IS 'throttle key';
COMMENT ON COLUMN hipq.throttle_keys.throttle_limit_per_key
    IS 'limit on throttle_used; NULL = no limit';
COMMENT ON COLUMN hipq.throttle_keys.throttle_used
    IS 'sum of throttle_factor over its running and offered jobs';
COMMENT ON COLUMN hipq.throttle_keys.running_jobs
    IS 'jobs of the key that run now or are offered';

CREATE VIEW hipq.lanes_detail WITH (security_barrier) AS
SELECT queue.name AS queue,
       lane.job_type,
       lane.priority,
       CASE WHEN isfinite(lane.due_time) THEN lane.due_time END AS due_time,
       CASE WHEN isfinite(lane.frontier_time) THEN lane.frontier_time END AS frontier_time,
       CASE
           WHEN isfinite(lane.frontier_time) THEN nullif(lane.frontier_id, -9223372036854775808)
       END AS frontier_id,
       lane.pockets,
       lane.notes,
       lane.is_read
FROM hipq._lanes() AS lane
JOIN hipq._visible_queue AS queue ON queue.queue_id = lane.queue_id;
COMMENT ON VIEW hipq.lanes_detail
    IS 'lanes: where executors look next for waiting jobs of a queue, job type and priority';
COMMENT ON COLUMN hipq.lanes_detail.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.lanes_detail.job_type IS 'job type';
COMMENT ON COLUMN hipq.lanes_detail.priority IS 'priority of the lane; lower runs first';
COMMENT ON COLUMN hipq.lanes_detail.due_time
    IS 'no job in it is due before; NULL = it is empty, or nothing is known yet';
COMMENT ON COLUMN hipq.lanes_detail.frontier_time
    IS 'from this scheduled_run_time on it has not been read; NULL = not read at all, or to its '
    'end';
COMMENT ON COLUMN hipq.lanes_detail.frontier_id
    IS 'of the jobs with scheduled_run_time = frontier_time, those from this id on have not been '
    'read; NULL = none has';
COMMENT ON COLUMN hipq.lanes_detail.pockets
    IS 'places before the frontier where there may be jobs to run';
COMMENT ON COLUMN hipq.lanes_detail.notes
    IS 'places that the next look takes in, because jobs came or came back';
COMMENT ON COLUMN hipq.lanes_detail.is_read IS 'an executor is taking jobs from it at this moment';

CREATE VIEW hipq.backlog WITH (security_barrier) AS
SELECT queue.name AS queue,
       counted.jobs,
       counted.is_exact
FROM hipq._visible_queue AS queue
CROSS JOIN LATERAL hipq._backlog(queue.queue_id) AS counted;
COMMENT ON VIEW hipq.backlog
    IS 'how many jobs of each queue are not final. It counts them: of a million in half a '
    'second. hipq.sizes has an estimate that reads nothing';
COMMENT ON COLUMN hipq.backlog.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.backlog.jobs
    IS 'unfinished jobs, due or not; NULL: somebody has locked the queue';
COMMENT ON COLUMN hipq.backlog.is_exact
    IS 'false: there are more than a million, and jobs is an estimate of the server';

-- One row for each leaf. Row counts are estimates of the statistics collector: the view scans
-- nothing. It measures files and reads bounds outside of the subquery: only for the rows that the
-- caller wants.
CREATE VIEW hipq.sizes_detail WITH (security_barrier) AS
SELECT leaf.queue,
       leaf.name AS table_name,
       leaf.kind,
       span.from_time,
       span.to_time,
       pg_stat_get_live_tuples(leaf.oid) AS row_estimate,
       pg_total_relation_size(leaf.oid) AS bytes,
       CASE
           WHEN leaf.kind = 'final' THEN round(pg_stat_get_live_tuples(leaf.oid) / span.days, 1)
       END AS rows_per_day,
       CASE
           WHEN leaf.kind = 'final' THEN round(pg_total_relation_size(leaf.oid) / span.days)
       END AS bytes_per_day
FROM (
    SELECT seen.name AS queue,
           'hipq.' || quote_ident(class.relname) AS name,
           CASE tree.level WHEN 1 THEN 'live' ELSE 'final' END AS kind,
           class.oid,
           class.relpartbound
    FROM (
        SELECT queue.queue_id, queue.table_name
        FROM hipq.queue
        WHERE queue.queue_id = ANY (hipq._reachable_queues(hipq._visible_queues()))
        OFFSET 0
    ) AS queue
    JOIN hipq._visible_queue AS seen ON seen.queue_id = queue.queue_id
    JOIN pg_class AS top
        ON top.relname = queue.table_name AND top.relnamespace = 'hipq'::regnamespace
    CROSS JOIN LATERAL pg_partition_tree(top.oid) AS tree
    JOIN pg_class AS class ON class.oid = tree.relid
    WHERE tree.isleaf
    UNION ALL
    SELECT NULL, 'hipq.' || quote_ident(class.relname), cut.kind, class.oid, class.relpartbound
    FROM (
        VALUES ('attempt', 'hipq.attempt'::regclass), ('attempt_log', 'hipq.attempt_log')
    ) AS cut (kind, parent)
    CROSS JOIN LATERAL pg_partition_tree(cut.parent) AS tree
    JOIN pg_class AS class ON class.oid = tree.relid
    WHERE tree.isleaf AND class.relkind = 'r' AND pg_has_role('pg_monitor', 'USAGE')
    UNION ALL
    SELECT NULL, 'hipq.dead_letter', 'dead_letter', 'hipq.dead_letter'::regclass, NULL
    WHERE pg_has_role('pg_monitor', 'USAGE')
    OFFSET 0
) AS leaf
CROSS JOIN LATERAL (
    SELECT bound.from_time,
           bound.to_time,
           CASE
               WHEN bound.from_time < hipq.now() THEN (
                   extract(epoch FROM least(bound.to_time, hipq.now()) - bound.from_time) / 86400
               )::numeric
           END AS days
    FROM (SELECT pg_get_expr(leaf.relpartbound, leaf.oid) AS definition) AS partition
    CROSS JOIN LATERAL (
        SELECT substring(partition.definition FROM 'FROM \(''([^'']*)''\)')::timestamptz
                   AS from_time,
               substring(partition.definition FROM 'TO \(''([^'']*)''\)')::timestamptz AS to_time
    ) AS bound
    OFFSET 0
) AS span;
COMMENT ON VIEW hipq.sizes_detail
    IS 'rows and bytes of every leaf of the queues'' tables, and per day of final jobs';
COMMENT ON COLUMN hipq.sizes_detail.queue
    IS 'queue; NULL = all queues share the table, shown to pg_monitor only';
COMMENT ON COLUMN hipq.sizes_detail.table_name IS 'table: a leaf of the queue''s table';
COMMENT ON COLUMN hipq.sizes_detail.kind
    IS 'live (unfinished jobs), final, attempt, attempt_log or dead_letter';
COMMENT ON COLUMN hipq.sizes_detail.from_time IS 'rows of the leaf are not older; NULL = no bound';
COMMENT ON COLUMN hipq.sizes_detail.to_time IS 'rows of the leaf are older; NULL = no bound';
COMMENT ON COLUMN hipq.sizes_detail.row_estimate
    IS 'rows, as the statistics of the server estimate them';
COMMENT ON COLUMN hipq.sizes_detail.bytes IS 'bytes on disk with indexes and TOAST';
COMMENT ON COLUMN hipq.sizes_detail.rows_per_day
    IS 'final jobs a day in the time of the leaf that has passed';
COMMENT ON COLUMN hipq.sizes_detail.bytes_per_day
    IS 'bytes a day in the time of the leaf that has passed';

-- First the alerts of shared memory, for the whole server; then those that need a look at this
-- database.
CREATE VIEW hipq.alerts_detail WITH (security_barrier) AS
SELECT alert.alert,
       alert.severity,
       alert.times,
       alert.first_time,
       alert.last_time,
       alert.detail,
       alert.hint
FROM (
    SELECT raised.alert,
           'alarm' AS severity,
           raised.times,
           raised.first_time,
           raised.last_time,
           raised.detail,
           raised.hint
    FROM hipq._alerts() AS raised
    UNION ALL
    SELECT overdue.alert,
           overdue.severity,
           overdue.jobs,
           overdue.first_time,
           overdue.last_time,
           overdue.detail,
           overdue.hint
    FROM hipq._overdue() AS overdue
    UNION ALL
    SELECT 'crashing job type',
           'alarm',
           pause.crashes,
           job_type.crash_times[1],
           pause.paused_time,
           format(
               'Job type %s of queue %s.%s is held: its jobs took the server down %s times, at %s.',
               quote_ident(job_type.name), instance.name, queue.name, pause.crashes,
               array_to_string(job_type.crash_times, ', ')
           ),
           'Mend the handler, then SELECT hipq.resume(queue, job_type), or give it another one '
           'with hipq.alter_job_type().'
    FROM hipq.pause
    JOIN hipq.job_type ON job_type.queue_id = pause.queue_id AND job_type.name = pause.job_type
    JOIN hipq.queue ON queue.queue_id = pause.queue_id
    JOIN hipq.instance ON instance.instance_id = queue.instance_id
    WHERE pause.crashes IS NOT NULL
    UNION ALL
    SELECT 'breaker open',
           'warning',
           count(*),
           min(breaker.since),
           max(breaker.since),
           'Breakers stop jobs of '
               || string_agg(
                      format(
                          'job type %s of queue %s.%s (%s since %s: %s)',
                          quote_ident(stored.job_type), instance.name, queue.name, breaker.state,
                          date_trunc('second', breaker.since), breaker.cause
                      ),
                      ', ' ORDER BY breaker.since DESC, stored.job_type
                  )
               || '.',
           'When what they need works, SELECT hipq.close_breaker(queue, job_type), or wait until '
           'a job that tries succeeds.'
    FROM hipq.breaker_state AS stored
    JOIN hipq.queue ON queue.queue_id = stored.queue_id
    JOIN hipq.instance ON instance.instance_id = queue.instance_id
    CROSS JOIN LATERAL hipq._breaker(stored.queue_id, stored.job_type) AS breaker
    WHERE breaker.state <> 'closed'
    HAVING count(*) > 0
    UNION ALL
    SELECT 'crashing dead letter handler',
           'alarm',
           cardinality(queue.dead_letter_crash_times),
           queue.dead_letter_crash_times[1],
           queue.dead_letter_crash_times[cardinality(queue.dead_letter_crash_times)],
           format(
               'The handler of dead letters of queue %s.%s is not called: it took the server '
               'down, at %s.',
               instance.name, queue.name, array_to_string(queue.dead_letter_crash_times, ', ')
           ),
           'Mend the handler, then SELECT hipq.resume(queue), or give the queue another one with '
           'hipq.alter_queue().'
    FROM hipq.queue
    JOIN hipq.instance ON instance.instance_id = queue.instance_id
    WHERE NOT queue.is_dropped
      AND current_setting('hipq.max_type_crashes', true)::integer
          BETWEEN 1 AND cardinality(queue.dead_letter_crash_times)
    UNION ALL
    SELECT 'dead letters waiting',
           'alarm',
           waiting.letters,
           waiting.first_time,
           waiting.last_time,
           'More than ' || waiting.most
               || ' dead letters are neither handled, redriven nor dismissed.',
           'View hipq.dead_letters_detail has the jobs with their errors.'
    FROM (
        SELECT count(*) AS letters,
               min(letter.died_time) AS first_time,
               max(letter.died_time) AS last_time,
               current_setting('hipq.alert_dead_letter_depth', true)::integer AS most
        FROM (
            SELECT dead_letter.died_time
            FROM hipq.dead_letter
            WHERE dead_letter.handled_time IS NULL
              AND dead_letter.redriven_time IS NULL
              AND dead_letter.dismissed_time IS NULL
            LIMIT greatest(current_setting('hipq.alert_dead_letter_depth', true)::integer, 0) + 1
        ) AS letter
    ) AS waiting
    WHERE waiting.most >= 0 AND waiting.letters > waiting.most
    UNION ALL
    SELECT 'job set aside',
           'alarm',
           count(*),
           min(aside.set_aside_time),
           max(aside.set_aside_time),
           'What became of ' || count(*)
               || ' job(s) cannot be written down; they are left alone. The latest is job '
               || (array_agg(
                      aside.job_id ORDER BY aside.set_aside_time DESC, aside.job_id DESC
                  ))[1]
               || ': '
               || (array_agg(
                      aside.error ORDER BY aside.set_aside_time DESC, aside.job_id DESC
                  ))[1],
           'When the cause is gone hipq.fail_job() or hipq.cancel() ends each, and hipq.retry() '
           'runs it again; table hipq.set_aside names them.'
    FROM hipq._jobs_set_aside() AS aside
    HAVING count(*) > 0
    UNION ALL
    SELECT 'schedules',
           'alarm',
           count(*),
           NULL,
           hipq.now(),
           count(*) || ' schedule(s) do not come, as pg_cron has no job for them in this database: '
               || array_to_string(
                      (array_agg(
                          concat_ws(
                              ' of ', quote_ident(lost.name), instance.name || '.' || queue.name
                          )
                          || CASE WHEN pg_roles.oid IS NULL THEN ' (its role is gone)' ELSE '' END
                          ORDER BY lost.schedule_id
                      ))[1:10],
                      ', '
                  )
               || CASE WHEN count(*) > 10 THEN ', ...' ELSE '.' END,
           'SELECT hipq.restore_schedules(), which says what is in the way; or end them with '
           'hipq.unschedule().'
    FROM hipq._lost_schedules() AS lost
    LEFT JOIN hipq.schedule ON schedule.schedule_id = lost.schedule_id
    LEFT JOIN pg_roles ON pg_roles.oid = schedule.role
    LEFT JOIN hipq.queue ON queue.queue_id = schedule.queue_id
    LEFT JOIN hipq.instance ON instance.instance_id = queue.instance_id
    HAVING count(*) > 0
    UNION ALL
    SELECT 'failed schedules',
           'alarm',
           count(*),
           min(schedule.last_run_time),
           max(schedule.last_run_time),
           count(*) || ' schedule(s) failed at their last run: '
               || array_to_string(
                      (array_agg(
                          concat_ws(
                              ' of ', quote_ident(schedule.name), instance.name || '.' || queue.name
                          ) || ' (' || schedule.last_error || ')'
                          ORDER BY schedule.schedule_id
                      ))[1:10],
                      ', '
                  )
               || CASE WHEN count(*) > 10 THEN ', ...' ELSE '.' END,
           'They go on with their next time. View hipq.schedules_detail has each in last_error.'
    FROM hipq.schedule
    LEFT JOIN hipq.queue ON queue.queue_id = schedule.queue_id
    LEFT JOIN hipq.instance ON instance.instance_id = queue.instance_id
    WHERE schedule.last_error IS NOT NULL
    HAVING count(*) > 0
    UNION ALL
    SELECT 'pg_cron',
           'alarm',
           1,
           NULL,
           hipq.now(),
           'The process of pg_cron is not there, or ends at each start: no schedule comes.',
           'The server''s log says why. If somebody has ended it, as DROP DATABASE ... WITH '
           '(FORCE) does, it comes back when the server is restarted.'
    WHERE hipq._is_cron_stopped()
    UNION ALL
    SELECT 'shard',
           'alarm',
           1,
           NULL,
           hipq.now(),
           format(
               'Shard %s of instance "%s": %s. Jobs that are for it, or come from it, wait.',
               shard.shard, shard.instance, shard.problem
           ),
           CASE
               WHEN shard.problem ~ ' is (gone|lost)$' THEN format(
                   'CALL hipq.resync_shard(%L, %s).', shard.instance COLLATE "default", shard.shard
               )
               ELSE format(
                   'View hipq.shards, and the logs of both servers. If a standby of it was '
                   'promoted, or it was restored: CALL hipq.resync_shard(%L, %s).',
                   shard.instance COLLATE "default", shard.shard
               )
           END
    FROM hipq.shards AS shard
    WHERE shard.problem IS NOT NULL
    UNION ALL
    SELECT 'shard',
           'alarm',
           1,
           NULL,
           hipq.now(),
           format(
               'This server is shard %s of instance "%s", and nothing reads what the router sends '
               'to it.',
               map.own_node, instance.name
           ),
           'View pg_stat_subscription, and the logs of both servers.'
    FROM hipq.shard_map AS map
    JOIN hipq.instance USING (instance_id)
    LEFT JOIN pg_stat_subscription AS reader
        ON reader.subname = 'hipq_' || left(map.cluster::text, 8) || '_to_' || map.own_node
       AND reader.relid IS NULL
       AND reader.pid IS NOT NULL
    WHERE map.own_node > 0 AND reader.subid IS NULL AND hipq._is_own_timeline(map.timeline)
    UNION ALL
    SELECT 'shard',
           'alarm',
           1,
           NULL,
           hipq.now(),
           format(
               CASE
                   WHEN map.timeline LIKE 'forgotten: %' THEN
                       'This server, node %s of instance "%s", has forgotten what it did last, as '
                       'it is when its disk is put back to an earlier state: %s. It starts no job '
                       'of the instance and takes none.'
                   ELSE
                       'This server, node %s of instance "%s", was promoted or restored, and may '
                       'lack what it has sent and received. It starts no job of the instance and '
                       'takes none.'
               END,
               map.own_node, instance.name, substr(map.timeline, 12)
           ),
           CASE
               WHEN map.own_node > 0 THEN format(
                   'On the router: CALL hipq.resync_shard(%L, %s).',
                   instance.name COLLATE "default", map.own_node
               )
               ELSE format('CALL hipq.resync_shard(%L, 0).', instance.name COLLATE "default")
           END
    FROM hipq.shard_map AS map
    JOIN hipq.instance USING (instance_id)
    WHERE NOT hipq._is_own_timeline(map.timeline)
    UNION ALL
    SELECT 'shard',
           'alarm',
           count(*),
           NULL,
           hipq.now(),
           format(
               'This server is shard %s of instance "%s", and could not set up all that the '
               'router has: %s.',
               map.own_node, instance.name, string_agg(lacking.name, ', ' ORDER BY lacking.name)
           ),
           'The log of this server says why. Make here what is missing, a role or a handler, and '
           'call hipq.alter_queue() or the like on the router.'
    FROM hipq.shard_map AS map
    JOIN hipq.instance USING (instance_id)
    CROSS JOIN LATERAL (
        SELECT CASE
                   WHEN queue.queue_id IS NULL THEN 'queue ' || has.queue
                   ELSE 'job type ' || quote_ident(type.name) || ' of queue ' || has.queue
               END AS name
        FROM jsonb_each(map.router_has) AS has (queue, types)
        LEFT JOIN hipq.queue AS queue
            ON queue.instance_id = map.instance_id
           AND instance.name || '.' || queue.name = has.queue
           AND NOT queue.is_dropped
        LEFT JOIN LATERAL jsonb_array_elements_text(has.types) AS type (name)
            ON queue.queue_id IS NOT NULL
        WHERE queue.queue_id IS NULL
           OR type.name IS NOT NULL
              AND NOT EXISTS (
                  SELECT FROM hipq.job_type
                  WHERE job_type.queue_id = queue.queue_id
                    AND job_type.name = type.name
                    AND job_type.is_registered
              )
        LIMIT 10
    ) AS lacking
    GROUP BY map.own_node, instance.name
    UNION ALL
    SELECT 'move of slots',
           'alarm',
           waiting.slots,
           waiting.since,
           clock_timestamp(),
           format(
               '%s slot(s) of instance "%s" that move in strict order wait for %s. Their jobs '
               'wait, too.',
               waiting.slots, waiting.instance,
               coalesce(users.names, 'the scheduler of this database')
           ),
           'End the transaction: jobs that it has enqueued have to come before those that are '
           'enqueued now.'
    FROM (
        SELECT instance.name AS instance,
               count(*) AS slots,
               min(move.started_time) AS since,
               max(coalesce(move.seen_time, move.started_time)) AS moment
        FROM hipq.shard_move AS move
        JOIN hipq.instance USING (instance_id)
        WHERE move.in_order <> '{}'
          AND CASE move.from_node
                  WHEN 0 THEN move.busy_keys IS NULL
                  ELSE NOT move.last_sent
              END
        GROUP BY instance.name
    ) AS waiting
    CROSS JOIN LATERAL (
        SELECT string_agg(
                   coalesce(
                       'process ' || held.pid
                           || coalesce(
                                  ' (' || activity.usename || ', ' || activity.state || ')', ''
                              ),
                       'a prepared transaction'
                   ),
                   ', ' ORDER BY held.pid
               ) AS names
        FROM pg_locks AS held
        JOIN pg_database AS database
            ON database.oid = held.database AND database.datname = current_database()
        LEFT JOIN pg_stat_activity AS activity ON activity.pid = held.pid
        WHERE held.relation = 'hipq.shard_map'::regclass
          AND held.mode = 'RowShareLock'
          AND held.pid IS DISTINCT FROM pg_backend_pid()
          AND (activity.xact_start IS NULL OR activity.xact_start <= waiting.moment)
    ) AS users
    WHERE extract(epoch FROM current_setting('hipq.alert_held_snapshot', true)::interval) >= 0
      AND clock_timestamp() - waiting.since
          > current_setting('hipq.alert_held_snapshot', true)::interval
    UNION ALL
    SELECT 'jobs refused by a shard',
           'alarm',
           count(*),
           min(reject.rejected_time),
           max(reject.rejected_time),
           count(*) || ' job(s) of instance "' || reject.instance
               || '" could not be taken by the node that they were for.',
           'View hipq.shard_rejects has them with their errors. Mend the cause, then '
           'hipq.resend_rejects() on the router sends them again.'
    FROM hipq.shard_reject AS reject
    WHERE reject.sqlstate <> '23505' AND reject.queue IS NOT NULL
    GROUP BY reject.instance
    UNION ALL
    SELECT 'letter refused',
           'alarm',
           count(*),
           min(reject.rejected_time),
           max(reject.rejected_time),
           format(
               'Node %s of instance "%s" has refused %s letter(s) of node %s. The latest: %s.',
               reject.node, reject.instance, count(*), reject.sender,
               left((array_agg(reject.error ORDER BY reject.rejected_time DESC))[1], 1000)
           ),
           'Table hipq.shard_reject has them, with queue NULL. hipq does not write such letters: '
           'see who may write to hipq.shard_outbox on the node that sent them. Then delete the '
           'rows.'
    FROM hipq.shard_reject AS reject
    WHERE reject.queue IS NULL
    GROUP BY reject.instance, reject.sender, reject.node
    UNION ALL
    SELECT 'held snapshot',
           'alarm',
           1,
           held.since,
           clock_timestamp(),
           held.who || ' keeps dead rows of this database from being removed.',
           'End it: tables of jobs grow meanwhile, and claims slow down.'
    FROM (
        SELECT 'Process ' || activity.pid
                   || ' (' || coalesce(activity.usename, activity.backend_type)
                   || coalesce(', ' || activity.state, '') || ')' AS who,
               activity.xact_start AS since
        FROM pg_stat_activity AS activity
        WHERE activity.datname = current_database() AND activity.backend_type <> 'autovacuum worker'
          AND (activity.backend_xmin IS NOT NULL OR activity.backend_xid IS NOT NULL)
        UNION ALL
        SELECT 'Prepared transaction "' || prepared.gid || '"', prepared.prepared
        FROM pg_prepared_xacts AS prepared
        WHERE prepared.database = current_database()
    ) AS held
    WHERE extract(epoch FROM current_setting('hipq.alert_held_snapshot', true)::interval) >= 0
      AND clock_timestamp() - held.since
          > current_setting('hipq.alert_held_snapshot', true)::interval
    UNION ALL
    -- Locks on names have class hipq.queue (src/catalog/name_lock.cpp).
    SELECT 'prepared set-up',
           'alarm',
           1,
           prepared.prepared,
           clock_timestamp(),
           format(
               'Prepared transaction "%s" has changed queues, job types, rights or schedules. '
               'Until it ends others cannot change the same ones; they may not be able to make '
               'any queue.',
               prepared.gid
           ),
           format('COMMIT PREPARED %1$L, or ROLLBACK PREPARED %1$L.', prepared.gid)
    FROM pg_prepared_xacts AS prepared
    CROSS JOIN LATERAL (
        SELECT FROM pg_locks AS own
        JOIN pg_locks AS held
            ON held.virtualtransaction = own.virtualtransaction AND held.pid IS NULL
        WHERE own.transactionid = prepared.transaction
          AND own.pid IS NULL
          AND held.locktype = 'object'
          AND held.classid = 'hipq.queue'::regclass
        LIMIT 1
    ) AS held
    WHERE prepared.database = current_database()
    UNION ALL
    -- A leaf is dropped when all of it is older than the retention; it spans a quarter of that
    -- time. Without the table's OID, pg_get_expr() does not wait for a lock on the table.
    SELECT 'retention',
           'alarm',
           count(*),
           min(leaf.to_time + leaf.retention),
           hipq.now(),
           'Final jobs of queue "' || leaf.queue || '" are kept beyond its retention.',
           'A reader of its tables may be in the way; or hipq.databases, or hipq.enabled, keeps '
           'hipq out.'
    FROM (
        SELECT instance.name || '.' || queue.name AS queue,
               substring(
                   pg_get_expr(class.relpartbound, 0) FROM 'TO \(''([^'']*)''\)'
               )::timestamptz AS to_time,
               coalesce(
                   nullif(queue.retention, interval '0'),
                   current_setting('hipq.retention', true)::interval
               ) AS retention
        FROM hipq.queue
        JOIN hipq.instance ON instance.instance_id = queue.instance_id
        JOIN pg_class AS top
            ON top.relname = queue.table_name AND top.relnamespace = 'hipq'::regnamespace
        JOIN pg_inherits AS of_top ON of_top.inhparent = top.oid
        JOIN pg_inherits AS of_final ON of_final.inhparent = of_top.inhrelid
        JOIN pg_class AS class ON class.oid = of_final.inhrelid
        WHERE NOT queue.is_dropped
    ) AS leaf
    WHERE leaf.to_time + leaf.retention + leaf.retention / 4 + interval '1 hour' < hipq.now()
    GROUP BY leaf.queue
    UNION ALL
    SELECT finding.alert, 'alarm', finding.times, NULL, hipq.now(), finding.detail, finding.hint
    FROM (
        SELECT counted.*,
               100 * counted.unhealthy / nullif(counted.workers, 0) AS unhealthy_share,
               counted.queue_depth / nullif(counted.workers, 0) AS average_depth,
               current_setting('hipq.alert_unhealthy_workers', true)::numeric AS most_unhealthy,
               current_setting('hipq.alert_worker_depth', true)::numeric AS most_depth
        FROM (
            SELECT sum(health.workers) AS workers,
                   sum(health.workers) FILTER (WHERE health.status = 'unhealthy') AS unhealthy,
                   sum(health.queue_depth) AS queue_depth
            FROM hipq.worker_health AS health
        ) AS counted
    ) AS all_workers
    CROSS JOIN LATERAL (VALUES
        ('unhealthy workers',
         all_workers.unhealthy_share > all_workers.most_unhealthy,
         all_workers.unhealthy::bigint,
         all_workers.unhealthy || ' of ' || all_workers.workers
             || ' active external workers of this database are unhealthy: '
             || trim_scale(round(all_workers.unhealthy_share, 2))
             || ' %, limit ' || all_workers.most_unhealthy || ' %.',
         'View hipq.workers_detail says which, and what that follows from.'),
        ('worker depth',
         all_workers.most_depth >= 0 AND all_workers.average_depth > all_workers.most_depth,
         all_workers.queue_depth::bigint,
         'Active external workers of this database have ' || round(all_workers.average_depth, 1)
             || ' jobs each that they have not accepted, limit ' || all_workers.most_depth || '.',
         'Start more workers; view hipq.workers says which are behind.')
    ) AS finding (alert, is_the_case, times, detail, hint)
    WHERE finding.is_the_case
) AS alert
WHERE pg_has_role('pg_monitor', 'USAGE');
COMMENT ON VIEW hipq.alerts_detail
    IS 'what an operator should know: of the whole server, and not older than five minutes; and '
    'what is the case now, in rates, dead letters, snapshots, retention and external workers';
COMMENT ON COLUMN hipq.alerts_detail.alert
    IS 'short name of the alert; ''jobs wait: ...'' names a condition of hipq.why()';
COMMENT ON COLUMN hipq.alerts_detail.severity
    IS 'alarm: somebody has to do something; information: jobs wait because somebody wants it so, '
    'or for their turn';
COMMENT ON COLUMN hipq.alerts_detail.times
    IS 'how often since first_time; of jobs that wait: how many';
COMMENT ON COLUMN hipq.alerts_detail.first_time
    IS 'since when it has happened again and again; NULL = nobody knows';
COMMENT ON COLUMN hipq.alerts_detail.last_time IS 'when it happened last';
COMMENT ON COLUMN hipq.alerts_detail.detail IS 'what is slower or waits because of it';
COMMENT ON COLUMN hipq.alerts_detail.hint IS 'what to do';

-- Reads shared memory, the catalogue, and of each queue's table an amount that does not grow with
-- it.
CREATE VIEW hipq.activity_detail WITH (security_barrier) AS
SELECT queue.name AS queue,
       depth.jobs AS backlog_estimate,
       coalesce(running.jobs, 0) AS running_jobs,
       coalesce(rate.finished_per_minute, 0) AS finished_per_minute,
       coalesce(hour.failed, 0) AS failed,
       coalesce(hour.retried, 0) AS retried,
       hour.wait_p50,
       hour.wait_p99,
       depth.oldest_due_time,
       CASE
           WHEN queue.is_dropped THEN 'being dropped'
           WHEN pause.of_all > 0 THEN 'paused'
           WHEN pause.for_crashes > 0 THEN 'held: crashed'
           WHEN queue.throttle_limit >= 1 AND limiter.used >= 1000 * queue.throttle_limit
               THEN 'at its limit'
           WHEN pause.types > 0 THEN pause.types
               || CASE pause.types WHEN 1 THEN ' type paused' ELSE ' types paused' END
           WHEN depth.jobs IS NULL THEN 'locked'
           WHEN depth.jobs > coalesce(running.jobs, 0) AND lane.without_worker > 0 THEN 'no worker'
           WHEN depth.oldest_due_time < hipq.now() - interval '1 minute' THEN 'late'
           WHEN running.jobs > 0 THEN 'runs'
           WHEN depth.jobs > 0 THEN 'waits'
           ELSE 'idle'
       END AS state,
       CASE
           WHEN queue.throttle_limit >= 1 THEN queue.throttle_limit
       END::numeric(12,3) AS throttle_limit,
       coalesce(round(limiter.used / 1000.0, 3), 0.000) AS throttle_used,
       'hipq.' || quote_ident(queue.table_name) AS table_name,
       CASE
           WHEN depth.jobs > 0 THEN make_interval(
               secs => ceil(60 * depth.jobs / nullif(rate.finished_per_minute, 0))::float8
           )
       END AS empty_in,
       depth.is_exact
FROM (
    SELECT queue.queue_id,
           queue.instance_id,
           queue.table_name,
           queue.throttle_limit,
           queue.is_dropped,
           seen.name
    FROM hipq.queue
    JOIN hipq._visible_queue AS seen ON seen.queue_id = queue.queue_id
    OFFSET 0
) AS queue
CROSS JOIN LATERAL hipq._depth(queue.queue_id) AS depth
LEFT JOIN (
    SELECT job.queue_id, count(*) AS jobs FROM hipq._running_jobs() AS job GROUP BY job.queue_id
) AS running ON running.queue_id = queue.queue_id
LEFT JOIN (
    SELECT counted.queue_id,
           round(
               counted.finished / greatest(1, extract(epoch FROM hipq.now() - counted.since) / 60),
               1
           ) AS finished_per_minute
    FROM hipq._finished_lately() AS counted
) AS rate ON rate.queue_id = queue.queue_id
LEFT JOIN (
    SELECT counted.queue_id, counted.failed, counted.retried, counted.wait_p50, counted.wait_p99
    FROM hipq._statistics() AS counted
    WHERE counted.job_type IS NULL AND counted.period = 'hour'
) AS hour ON hour.queue_id = queue.queue_id
LEFT JOIN (
    SELECT known.queue_id,
           count(*) FILTER (WHERE job_type.handler_kind = 'notify' AND service.workers IS NULL)
               AS without_worker
    FROM hipq._lanes() AS known
    LEFT JOIN hipq.job_type ON job_type.queue_id = known.queue_id AND job_type.name = known.job_type
    LEFT JOIN (
        SELECT served.queue_id, served.job_type, served.workers
        FROM hipq._worker_services() AS served
        WHERE served.workers > 0
    ) AS service ON service.queue_id = known.queue_id AND service.job_type = known.job_type
    GROUP BY known.queue_id
) AS lane ON lane.queue_id = queue.queue_id
LEFT JOIN (
    SELECT known.queue_id, known.used FROM hipq._limiters() AS known WHERE known.job_type IS NULL
) AS limiter ON limiter.queue_id = queue.queue_id
LEFT JOIN LATERAL (
    SELECT count(*) FILTER (WHERE held.job_type IS NULL) AS of_all,
           count(*) FILTER (WHERE held.crashes IS NOT NULL) AS for_crashes,
           count(DISTINCT held.job_type) AS types
    FROM hipq.pause AS held
    WHERE held.queue_id = queue.queue_id OR held.instance_id = queue.instance_id
) AS pause ON true;
COMMENT ON VIEW hipq.activity_detail
    IS 'what goes on in each queue: one row a queue, in milliseconds whatever waits';
COMMENT ON COLUMN hipq.activity_detail.queue IS 'name: instance.queue';
COMMENT ON COLUMN hipq.activity_detail.backlog_estimate
    IS 'unfinished jobs; NULL: somebody has locked the queue';
COMMENT ON COLUMN hipq.activity_detail.running_jobs
    IS 'jobs that executors run, that external workers have, or that are offered to them';
COMMENT ON COLUMN hipq.activity_detail.finished_per_minute
    IS 'jobs that succeeded or failed for good, per minute, over the last one or two minutes';
COMMENT ON COLUMN hipq.activity_detail.failed IS 'jobs that failed for good in the last hour';
COMMENT ON COLUMN hipq.activity_detail.retried
    IS 'attempts of the last hour that failed and were retried';
COMMENT ON COLUMN hipq.activity_detail.wait_p50
    IS 'seconds from when jobs were due to their start in the last hour: half waited no longer';
COMMENT ON COLUMN hipq.activity_detail.wait_p99
    IS 'the same as wait_p50: 99 percent waited no longer';
COMMENT ON COLUMN hipq.activity_detail.oldest_due_time
    IS 'when the first of the due jobs that do not run was due; NULL = there is none, or somebody '
    'has locked the queue';
COMMENT ON COLUMN hipq.activity_detail.state
    IS 'the first that holds: being dropped, paused, held: crashed (a job type), at its limit, 1 '
    'type paused, locked, no worker (for a job type), late (a job is due for more than a minute), '
    'runs, waits, idle';
COMMENT ON COLUMN hipq.activity_detail.throttle_limit IS 'limit on throttle_used; NULL = no limit';
COMMENT ON COLUMN hipq.activity_detail.throttle_used
    IS 'sum of throttle_factor over its running and offered jobs';
COMMENT ON COLUMN hipq.activity_detail.table_name IS 'table of the queue';
COMMENT ON COLUMN hipq.activity_detail.empty_in
    IS 'how long its backlog takes at the pace of finished_per_minute; NULL = there is none, or '
    'nothing finishes';
COMMENT ON COLUMN hipq.activity_detail.is_exact
    IS 'whether backlog_estimate was counted; false: an estimate, as the live leaf has more than '
    '256 kB, or unknown';

CREATE FUNCTION hipq.top(
    sort text DEFAULT 'busy', lines integer DEFAULT 20,
    OUT queue text, OUT backlog bigint, OUT exact boolean, OUT running bigint, OUT per_min numeric,
    OUT failed bigint, OUT p50 numeric, OUT p99 numeric, OUT oldest interval, OUT state text
) RETURNS SETOF record LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN line.is_all THEN head.executors ELSE line.queue END,
           line.backlog,
           line.is_exact,
           line.running,
           line.per_min,
           line.failed,
           CASE WHEN NOT line.is_all THEN line.p50 END,
           CASE WHEN NOT line.is_all THEN line.p99 END,
           -- Always in hours: days would make the column too wide.
           make_interval(secs => floor(line.due_for)),
           CASE
               WHEN line.is_all THEN head.alerts || line.queues
                   || CASE line.queues WHEN 1 THEN ' queue' ELSE ' queues' END
               ELSE line.state
           END
    FROM (
        SELECT grouping(seen.queue) = 1 AS is_all,
               seen.queue,
               count(seen.queue) AS queues,
               CASE count(seen.queue)
                   WHEN 0 THEN 0
                   ELSE sum(seen.backlog_estimate)::bigint
               END AS backlog,
               coalesce(bool_and(seen.is_exact), true) AS is_exact,
               coalesce(sum(seen.running_jobs), 0)::bigint AS running,
               coalesce(sum(seen.finished_per_minute), 0) AS per_min,
               coalesce(sum(seen.failed), 0)::bigint AS failed,
               round(max(seen.wait_p50)::numeric, 3) AS p50,
               round(max(seen.wait_p99)::numeric, 3) AS p99,
               date_part('epoch', hipq.now() - min(seen.oldest_due_time)) AS due_for,
               min(seen.state) AS state
        FROM hipq.activity_detail AS seen
        GROUP BY GROUPING SETS ((), (seen.queue))
    ) AS line
    CROSS JOIN (
        SELECT 'busy ' || executors.busy || '/' || current_setting('hipq.max_executors', true)
                   || CASE
                          WHEN workers.known > 0
                              THEN ', workers ' || workers.fit || '/' || workers.known
                          ELSE ''
                      END AS executors,
               CASE alerts.known
                   WHEN 0 THEN ''
                   WHEN 1 THEN '1 alert, '
                   ELSE alerts.known || ' alerts, '
               END AS alerts
        FROM (
            SELECT count(*) FILTER (WHERE executor.status IN ('running', 'unresponsive')) AS busy
            FROM hipq._executors() AS executor
        ) AS executors
        CROSS JOIN (
            SELECT count(*) AS known,
                   count(*) FILTER (
                       WHERE worker.status = 'active' AND worker.health ->> 'status' <> 'unhealthy'
                   ) AS fit
            FROM hipq.workers_detail AS worker
        ) AS workers
        CROSS JOIN (SELECT count(*) AS known FROM hipq._alerts() AS alert) AS alerts
    ) AS head
    CROSS JOIN (SELECT hipq._sort_of_top(top.sort) AS key OFFSET 0) AS wanted
    ORDER BY line.is_all DESC,
             CASE wanted.key
                 WHEN 'backlog' THEN line.backlog
                 WHEN 'per_min' THEN line.per_min
                 WHEN 'failed' THEN line.failed
                 WHEN 'p50' THEN line.p50
                 WHEN 'p99' THEN line.p99
                 WHEN 'oldest' THEN line.due_for
                 WHEN 'running' THEN line.running
                 WHEN 'busy' THEN line.running
             END DESC NULLS LAST,
             CASE WHEN wanted.key = 'state' THEN line.state END,
             CASE WHEN wanted.key = 'busy' THEN line.per_min END DESC,
             CASE WHEN wanted.key = 'busy' THEN line.backlog END DESC,
             line.queue
    LIMIT top.lines + 1
$$;
COMMENT ON FUNCTION hipq.top(text, integer)
    IS 'shows at one glance what goes on, for \watch 1 in psql: a row for all, and the queues. '
    'sort: busy, or a column; lines: how many queues, NULL = all';
