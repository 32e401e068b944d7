-- What users call. Every function checks the caller's rights inside; EXECUTE comes with hipq.grant_queue().

-- Instances -------------------------------------------------------------------------------------------------------------------------

CREATE FUNCTION hipq.create_instance(
    name text, shard_key text DEFAULT 'NONE', table_naming_strategy text DEFAULT 'NONE', db_config jsonb DEFAULT '{}', strict boolean DEFAULT false
) RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_create_instance';
COMMENT ON FUNCTION hipq.create_instance(text, text, text, jsonb, boolean) IS 'creates an instance, a named group of queues; strict: they refuse jobs of unregistered types, unless they say otherwise; returns its number';

CREATE FUNCTION hipq.alter_instance(name text, strict boolean DEFAULT NULL) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_alter_instance';
COMMENT ON FUNCTION hipq.alter_instance(text, boolean) IS 'changes an instance; what is NULL stays';

CREATE FUNCTION hipq.drop_instance(name text) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_drop_instance';
COMMENT ON FUNCTION hipq.drop_instance(text) IS 'drops an instance that has no queues';

-- Queues ----------------------------------------------------------------------------------------------------------------------------

CREATE FUNCTION hipq.create_queue(
    queue text, owner regrole DEFAULT NULL, throttle_limit numeric DEFAULT 0, retention interval DEFAULT NULL,
    history text DEFAULT 'failed', strict boolean DEFAULT NULL, queue_ttl integer DEFAULT NULL,
    dead_letter_enabled boolean DEFAULT NULL, dead_letter_retention interval DEFAULT NULL, durability text DEFAULT 'strict',
    weight integer DEFAULT 100, dead_letter_max integer DEFAULT NULL, dead_letter_handler text DEFAULT 'NONE',
    max_timeout integer DEFAULT NULL, highest_priority integer DEFAULT NULL, allow_free_jobs boolean DEFAULT true,
    retry_enabled boolean DEFAULT NULL
) RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_create_queue';
COMMENT ON FUNCTION hipq.create_queue(text, regrole, numeric, interval, text, boolean, integer, boolean, interval, text, integer, integer, text, integer, integer, boolean, boolean)
    IS 'creates queue "instance.queue" and its table; handlers will run as owner (default: the caller); weight, 1 to 1000, is its share of the executors; max_timeout, highest_priority and allow_free_jobs cap what enqueuers may ask for; returns the queue''s number';

CREATE FUNCTION hipq.alter_queue(
    queue text, owner regrole DEFAULT NULL, throttle_limit numeric DEFAULT NULL, retention interval DEFAULT NULL,
    history text DEFAULT NULL, strict boolean DEFAULT NULL, queue_ttl integer DEFAULT NULL,
    dead_letter_enabled boolean DEFAULT NULL, dead_letter_retention interval DEFAULT NULL, durability text DEFAULT NULL,
    weight integer DEFAULT NULL, dead_letter_max integer DEFAULT NULL, dead_letter_handler text DEFAULT NULL,
    max_timeout integer DEFAULT NULL, highest_priority integer DEFAULT NULL, allow_free_jobs boolean DEFAULT NULL,
    retry_enabled boolean DEFAULT NULL, reset text[] DEFAULT '{}'
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_alter_queue';
COMMENT ON FUNCTION hipq.alter_queue(text, regrole, numeric, interval, text, boolean, integer, boolean, interval, text, integer, integer, text, integer, integer, boolean, boolean, text[])
    IS 'changes a queue; what is NULL stays, what reset names goes back to the setting';

CREATE FUNCTION hipq.drop_queue(queue text, force boolean DEFAULT false) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_drop_queue';
COMMENT ON FUNCTION hipq.drop_queue(text, boolean) IS 'drops a queue with its jobs; refuses while jobs are unfinished unless force';

CREATE FUNCTION hipq.grant_queue(queue text, role regrole, privilege text) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_grant_queue';
COMMENT ON FUNCTION hipq.grant_queue(text, regrole, text) IS 'allows a role to enqueue, work, read or control';

CREATE FUNCTION hipq.revoke_queue(queue text, role regrole, privilege text) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_revoke_queue';
COMMENT ON FUNCTION hipq.revoke_queue(text, regrole, text) IS 'takes back what grant_queue gave, with functions and views that no other right of the role needs';

-- Job types -------------------------------------------------------------------------------------------------------------------------

CREATE FUNCTION hipq.register_job_type(
    queue text, job_type text, handler text DEFAULT 'NONE', handler_kind text DEFAULT 'auto', retry_handler text DEFAULT 'NONE',
    default_timeout integer DEFAULT NULL, default_priority integer DEFAULT 0, default_throttle_factor numeric DEFAULT 1,
    default_time_windows text DEFAULT 'NONE', time_zone text DEFAULT NULL, max_retries integer DEFAULT NULL,
    retry_base interval DEFAULT NULL, retry_multiplier double precision DEFAULT NULL, retry_max interval DEFAULT NULL,
    retry_jitter double precision DEFAULT NULL, retry_on text[] DEFAULT '{}', do_not_retry_on text[] DEFAULT '{}',
    on_missing_handler text DEFAULT 'wait', queue_ttl integer DEFAULT NULL, claim text DEFAULT 'auto', batch_size integer DEFAULT 1,
    throttle_limit numeric DEFAULT 0, throttle_limit_per_key numeric DEFAULT 0, requires jsonb DEFAULT '{}', worker_wait_ttl integer DEFAULT NULL,
    retry_enabled boolean DEFAULT NULL, parameters jsonb DEFAULT '{}', validate text DEFAULT 'enqueue'
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_register_job_type';
COMMENT ON FUNCTION hipq.register_job_type(text, text, text, text, text, integer, integer, numeric, text, text, integer, interval, double precision, interval, double precision, text[], text[], text, integer, text, integer, numeric, numeric, jsonb, integer, boolean, jsonb, text)
    IS 'registers a job type of a queue: its handler and what its jobs start with; registering a type that hipq found by itself replaces it';

CREATE FUNCTION hipq.alter_job_type(
    queue text, job_type text, handler text DEFAULT NULL, handler_kind text DEFAULT 'auto', retry_handler text DEFAULT NULL,
    default_timeout integer DEFAULT NULL, default_priority integer DEFAULT NULL, default_throttle_factor numeric DEFAULT NULL,
    default_time_windows text DEFAULT NULL, time_zone text DEFAULT NULL, max_retries integer DEFAULT NULL,
    retry_base interval DEFAULT NULL, retry_multiplier double precision DEFAULT NULL, retry_max interval DEFAULT NULL,
    retry_jitter double precision DEFAULT NULL, retry_on text[] DEFAULT NULL, do_not_retry_on text[] DEFAULT NULL,
    on_missing_handler text DEFAULT NULL, queue_ttl integer DEFAULT NULL, claim text DEFAULT NULL, batch_size integer DEFAULT NULL,
    throttle_limit numeric DEFAULT NULL, throttle_limit_per_key numeric DEFAULT NULL, requires jsonb DEFAULT NULL, worker_wait_ttl integer DEFAULT NULL,
    retry_enabled boolean DEFAULT NULL, parameters jsonb DEFAULT NULL, validate text DEFAULT NULL, reset text[] DEFAULT '{}'
) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_alter_job_type';
COMMENT ON FUNCTION hipq.alter_job_type(text, text, text, text, text, integer, integer, numeric, text, text, integer, interval, double precision, interval, double precision, text[], text[], text, integer, text, integer, numeric, numeric, jsonb, integer, boolean, jsonb, text, text[])
    IS 'changes a job type for jobs to come (its time_zone for all that wait); what is NULL stays, what reset names goes back to the setting';

CREATE FUNCTION hipq.drop_job_type(queue text, job_type text, force boolean DEFAULT false) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_drop_job_type';
COMMENT ON FUNCTION hipq.drop_job_type(text, text, boolean) IS 'forgets a job type; refuses while it has unfinished jobs unless force';

-- Enqueue ---------------------------------------------------------------------------------------------------------------------------

CREATE FUNCTION hipq.enqueue(
    job_type text, job_data text DEFAULT '{}', queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, timeout integer DEFAULT NULL,
    throttle_factor numeric DEFAULT NULL, time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'error', throttle_key text DEFAULT NULL,
    queue_ttl integer DEFAULT NULL, worker text DEFAULT NULL, job_text text DEFAULT NULL
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue';
COMMENT ON FUNCTION hipq.enqueue(text, text, text, text, timestamptz, integer, integer, numeric, text, integer, timestamptz, text, text, integer, text, text)
    IS 'enqueues a job in the caller''s transaction and returns its id; text that is no JSON becomes a JSON string, job_text always does; worker: the one external worker that its first attempt is for, within queue_ttl; 22023: the job type is not for those';

CREATE FUNCTION hipq.enqueue(
    job_type text, job_data anyelement, queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, timeout integer DEFAULT NULL,
    throttle_factor numeric DEFAULT NULL, time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'error', throttle_key text DEFAULT NULL,
    queue_ttl integer DEFAULT NULL, worker text DEFAULT NULL
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue';
COMMENT ON FUNCTION hipq.enqueue(text, anyelement, text, text, timestamptz, integer, integer, numeric, text, integer, timestamptz, text, text, integer, text)
    IS 'enqueues a job in the caller''s transaction and returns its id; data of any type, as to_jsonb() makes it; worker as above';

CREATE FUNCTION hipq.enqueue_unique(
    job_type text, job_data text DEFAULT '{}', queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, timeout integer DEFAULT NULL,
    throttle_factor numeric DEFAULT NULL, time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'return', throttle_key text DEFAULT NULL,
    queue_ttl integer DEFAULT NULL, worker text DEFAULT NULL, job_text text DEFAULT NULL,
    OUT id bigint, OUT action text
) RETURNS record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_unique';
COMMENT ON FUNCTION hipq.enqueue_unique(text, text, text, text, timestamptz, integer, integer, numeric, text, integer, timestamptz, text, text, integer, text, text)
    IS 'enqueues a job unless an unfinished one has its key; returns the id of either and what was done: inserted, returned, replaced, merged, debounced, after';

CREATE FUNCTION hipq.enqueue_unique(
    job_type text, job_data anyelement, queue text DEFAULT NULL, job_key text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, timeout integer DEFAULT NULL,
    throttle_factor numeric DEFAULT NULL, time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'return', throttle_key text DEFAULT NULL,
    queue_ttl integer DEFAULT NULL, worker text DEFAULT NULL,
    OUT id bigint, OUT action text
) RETURNS record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_unique';
COMMENT ON FUNCTION hipq.enqueue_unique(text, anyelement, text, text, timestamptz, integer, integer, numeric, text, integer, timestamptz, text, text, integer, text)
    IS 'the same with data of any type, as to_jsonb() makes it; worker as above';

CREATE FUNCTION hipq.enqueue_many(
    job_type text, job_data jsonb[], job_keys text[] DEFAULT NULL, queue text DEFAULT NULL,
    scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, timeout integer DEFAULT NULL,
    throttle_factor numeric DEFAULT NULL, time_windows text DEFAULT NULL, max_retries integer DEFAULT NULL,
    expires_time timestamptz DEFAULT NULL, on_duplicate text DEFAULT 'error', throttle_key text DEFAULT NULL,
    queue_ttl integer DEFAULT NULL
) RETURNS bigint[] LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueue_many';
COMMENT ON FUNCTION hipq.enqueue_many(text, jsonb[], text[], text, timestamptz, integer, integer, numeric, text, integer, timestamptz, text, text, integer)
    IS 'enqueues one job per element of job_data in one statement; returns their ids in the same order';

-- Schedules -------------------------------------------------------------------------------------------------------------------------

CREATE FUNCTION hipq.schedule(
    name text, cron text, job_type text, job_data jsonb DEFAULT '{}', queue text DEFAULT NULL, job_key text DEFAULT NULL,
    priority integer DEFAULT NULL, timeout integer DEFAULT NULL, throttle_factor numeric DEFAULT NULL, time_windows text DEFAULT NULL,
    max_retries integer DEFAULT NULL, expires_after interval DEFAULT NULL, throttle_key text DEFAULT NULL
) RETURNS timestamptz LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_schedule';
COMMENT ON FUNCTION hipq.schedule(text, text, text, jsonb, text, text, integer, integer, numeric, text, integer, interval, text)
    IS 'makes a schedule, or changes the one of that name: pg_cron enqueues such a job at the times of the cron expression, as the caller, unless one with its key (default: the name) has not finished; returns when it comes first';

CREATE FUNCTION hipq.unschedule(name text) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_unschedule';
COMMENT ON FUNCTION hipq.unschedule(text) IS 'ends a schedule; jobs that it has enqueued stay';

CREATE FUNCTION hipq._run_schedule(schedule_id integer) RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__run_schedule';
COMMENT ON FUNCTION hipq._run_schedule(integer) IS 'a run of a schedule, called by pg_cron; says what it did';

-- Control ---------------------------------------------------------------------------------------------------------------------------

CREATE FUNCTION hipq.cancel(id bigint, reason text DEFAULT NULL, queue text DEFAULT NULL) RETURNS boolean
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_cancel';
COMMENT ON FUNCTION hipq.cancel(bigint, text, text) IS 'cancels a waiting or running job, a running one at once and whatever becomes of the transaction; false if it ends otherwise';

CREATE FUNCTION hipq.cancel_jobs(
    queue text, job_type text DEFAULT NULL, job_key text DEFAULT NULL, state text DEFAULT NULL, created_before timestamptz DEFAULT NULL,
    reason text DEFAULT NULL, max_jobs integer DEFAULT 10000
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_cancel_jobs';
COMMENT ON FUNCTION hipq.cancel_jobs(text, text, text, text, timestamptz, text, integer)
    IS 'cancels unfinished jobs of a queue, the oldest first, as cancel() does; what is NULL is not asked for; returns how many were';

CREATE FUNCTION hipq.retry(id bigint, reason text DEFAULT 'manual_retry', job_data jsonb DEFAULT NULL, queue text DEFAULT NULL) RETURNS bigint
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_retry';
COMMENT ON FUNCTION hipq.retry(bigint, text, jsonb, text) IS 'runs a final job again as a new job, with new data if given, which needs the right to enqueue; returns the new id';

CREATE FUNCTION hipq.retry_jobs(
    queue text, job_type text DEFAULT NULL, failed_after timestamptz DEFAULT NULL, failed_before timestamptz DEFAULT NULL,
    reason text DEFAULT 'manual_retry', max_jobs integer DEFAULT 10000
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_retry_jobs';
COMMENT ON FUNCTION hipq.retry_jobs(text, text, timestamptz, timestamptz, text, integer)
    IS 'runs jobs of a queue that failed for good again as new jobs, the oldest first and each once; passes over those whose key an unfinished job holds; returns how many were';

CREATE FUNCTION hipq.reschedule(id bigint, scheduled_run_time timestamptz DEFAULT NULL, priority integer DEFAULT NULL, queue text DEFAULT NULL) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_reschedule';
COMMENT ON FUNCTION hipq.reschedule(bigint, timestamptz, integer, text) IS 'moves a waiting job to another time or priority; what is NULL stays';

CREATE FUNCTION hipq.move_jobs(from_queue text, to_queue text, job_type text, max_jobs integer DEFAULT 10000, OUT moved bigint, OUT key_taken bigint) RETURNS SETOF record
    LANGUAGE c ROWS 1 AS 'MODULE_PATHNAME', 'hipq_move_jobs';
COMMENT ON FUNCTION hipq.move_jobs(text, text, text, integer)
    IS 'moves waiting jobs of a type to another queue that has the type too, the oldest first; says how many moved, and how many stay because their key is taken there';

CREATE FUNCTION hipq.extend(id bigint, more interval, queue text DEFAULT NULL) RETURNS timestamptz
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_extend';
COMMENT ON FUNCTION hipq.extend(bigint, interval, text) IS 'gives a running job more time, at once and whatever becomes of the transaction; returns when it times out now';

CREATE FUNCTION hipq.extend(id bigint, more text, queue text) RETURNS timestamptz
    LANGUAGE sql RETURN hipq.extend(id, more::interval, queue);
COMMENT ON FUNCTION hipq.extend(bigint, text, text) IS 'the same for literals: keeps extend(7, ''1 min'', ''app.mail'') apart from extend(id, attempt, more)';

CREATE FUNCTION hipq.erase(id bigint, queue text DEFAULT NULL) RETURNS boolean
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_erase';
COMMENT ON FUNCTION hipq.erase(bigint, text) IS 'removes a final job with its attempts and dead letter; false if there is no such job';

CREATE FUNCTION hipq.fail_job(id bigint, error text, queue text DEFAULT NULL) RETURNS text
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail_job';
COMMENT ON FUNCTION hipq.fail_job(bigint, text, text)
    IS 'fails a job by hand: one that an external worker runs as a transient_error, so that it is retried if the policy says so; one that waits or stands in error for good, with a dead letter. Returns its state then. 55000 for a job that an executor runs: cancel() stops it';

CREATE FUNCTION hipq.pause(queue text DEFAULT NULL, job_type text DEFAULT NULL, throttle_key text DEFAULT NULL, reason text DEFAULT 'NONE', instance text DEFAULT NULL)
    RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_pause';
COMMENT ON FUNCTION hipq.pause(text, text, text, text, text) IS 'starts no more jobs of a queue, of a job type or of a throttle key in it, or of an instance; what runs goes on; false if it was paused already';

CREATE FUNCTION hipq.resume(queue text DEFAULT NULL, job_type text DEFAULT NULL, throttle_key text DEFAULT NULL, instance text DEFAULT NULL)
    RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_resume';
COMMENT ON FUNCTION hipq.resume(text, text, text, text) IS 'ends what pause() began with the same arguments; false if that was not paused';

CREATE FUNCTION hipq.release_hold() RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_release_hold';
COMMENT ON FUNCTION hipq.release_hold() IS 'lets this restored or cloned database run the jobs it holds';
CREATE FUNCTION hipq.restore_schedules() RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_restore_schedules';
COMMENT ON FUNCTION hipq.restore_schedules() IS 'gives pg_cron the schedules that it has no job for, as after a restore; returns how many. release_hold() does so, too';

-- Dead letters ----------------------------------------------------------------------------------------------------------------------

CREATE FUNCTION hipq.redrive(id bigint, to_queue text DEFAULT NULL) RETURNS bigint
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_redrive';
COMMENT ON FUNCTION hipq.redrive(bigint, text)
    IS 'enqueues the job of a dead letter again as a new job, in its queue or in another one; returns the new id; an error if that was done already or its key is taken';

CREATE FUNCTION hipq.redrive(
    queue text, job_type text DEFAULT NULL, reason text DEFAULT NULL, before timestamptz DEFAULT NULL, rate double precision DEFAULT NULL,
    to_queue text DEFAULT NULL, state text DEFAULT 'waiting', max_jobs integer DEFAULT 10000, OUT redriven bigint, OUT key_taken bigint
) RETURNS record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_redrive_jobs';
COMMENT ON FUNCTION hipq.redrive(text, text, text, timestamptz, double precision, text, text, integer)
    IS 'enqueues the jobs of dead letters of a queue again, those that died first first, rate of them a second; what is NULL is not asked for; says how many were, and how many stay because their key is taken';

CREATE FUNCTION hipq.dismiss_dead_letters(id bigint) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_dismiss_dead_letter';
COMMENT ON FUNCTION hipq.dismiss_dead_letters(bigint) IS 'notes that nothing is to be done about a dead letter that waits; it stays to be looked at';

CREATE FUNCTION hipq.dismiss_dead_letters(
    queue text, job_type text DEFAULT NULL, reason text DEFAULT NULL, before timestamptz DEFAULT NULL, max_jobs integer DEFAULT 10000
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_dismiss_dead_letters';
COMMENT ON FUNCTION hipq.dismiss_dead_letters(text, text, text, timestamptz, integer)
    IS 'the same for dead letters of a queue that wait, the oldest first; what is NULL is not asked for; returns how many were';

CREATE FUNCTION hipq.purge_dead_letters(id bigint) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_purge_dead_letter';
COMMENT ON FUNCTION hipq.purge_dead_letters(bigint) IS 'removes a dead letter, whatever its state; its job, if it is still there, stays';

CREATE FUNCTION hipq.purge_dead_letters(
    queue text, job_type text DEFAULT NULL, reason text DEFAULT NULL, before timestamptz DEFAULT NULL, state text DEFAULT NULL,
    max_jobs integer DEFAULT 10000
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_purge_dead_letters';
COMMENT ON FUNCTION hipq.purge_dead_letters(text, text, text, timestamptz, text, integer)
    IS 'removes dead letters of a queue, the oldest first; what is NULL is not asked for; returns how many were';

-- For handlers ----------------------------------------------------------------------------------------------------------------------

CREATE FUNCTION hipq.fail_retriable(message text) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail_retriable';
COMMENT ON FUNCTION hipq.fail_retriable(text) IS 'raises SQLSTATE HQ002: in a handler, the attempt fails with reason transient_error';

CREATE FUNCTION hipq.fail_permanently(message text) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail_permanently';
COMMENT ON FUNCTION hipq.fail_permanently(text) IS 'raises SQLSTATE HQ001: in a handler, the job is final with reason explicit_failure';

CREATE FUNCTION hipq.snooze(delay interval) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_snooze';
COMMENT ON FUNCTION hipq.snooze(interval) IS 'in a handler: when it returns, what it wrote is committed and its job waits to be run again after that time, uncharged';

CREATE FUNCTION hipq.complete_later() RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_complete_later';
COMMENT ON FUNCTION hipq.complete_later()
    IS 'in a handler: when it returns, what it wrote is committed and its job stays running, until somebody completes or fails it or its timeout comes; raises 55000 outside of a handler, 0A000 in one that takes batches';

CREATE FUNCTION hipq.report_progress(done bigint, total bigint DEFAULT NULL, message text DEFAULT NULL) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_report_own_progress';
COMMENT ON FUNCTION hipq.report_progress(bigint, bigint, text)
    IS 'in a handler: says how far it has come; view hipq.progress shows it at once, whatever becomes of the transaction, unless the job runs in a client''s session (run_until_idle, dry_run); raises 22023 if done is negative or more than total';

CREATE FUNCTION hipq.extend(more interval) RETURNS timestamptz LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_extend_own';
COMMENT ON FUNCTION hipq.extend(interval) IS 'in a handler: gives its own job, or its batch, more time; returns when it times out now';

-- External workers ------------------------------------------------------------------------------------------------------------------

CREATE FUNCTION hipq.register_worker(
    name text, queues text[], job_types text[], capacity integer DEFAULT 1, prefetch integer DEFAULT 0, capabilities jsonb DEFAULT '{}',
    listen boolean DEFAULT false, take_over boolean DEFAULT false
) RETURNS bigint LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_register_worker';
COMMENT ON FUNCTION hipq.register_worker(text, text[], text[], integer, integer, jsonb, boolean, boolean)
    IS 'registers a program outside the server that serves job types of queues, with right work on each; listen binds it to this session and listens on hipq_worker_<id>; returns its id';

CREATE FUNCTION hipq.heartbeat(worker bigint, health text DEFAULT NULL) RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_heartbeat';
COMMENT ON FUNCTION hipq.heartbeat(bigint, text)
    IS 'says that a worker of the caller''s is alive, and how it is doing (JSON; what is malformed is kept out with a warning); returns its status, at once and whatever becomes of the transaction';

CREATE FUNCTION hipq.heartbeat(worker bigint, health jsonb) RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_heartbeat_jsonb';
COMMENT ON FUNCTION hipq.heartbeat(bigint, jsonb) IS 'the same for a jsonb value';

CREATE FUNCTION hipq.drain_worker(worker bigint) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_drain_worker';
COMMENT ON FUNCTION hipq.drain_worker(bigint) IS 'gives a worker no more jobs; those that it has it may finish';

CREATE FUNCTION hipq.deregister_worker(worker bigint) RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_deregister_worker';
COMMENT ON FUNCTION hipq.deregister_worker(bigint) IS 'forgets a worker';

CREATE FUNCTION hipq.report_progress(id bigint, attempt integer, done bigint, total bigint, message text DEFAULT NULL) RETURNS void
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_report_progress';
COMMENT ON FUNCTION hipq.report_progress(bigint, integer, bigint, bigint, text)
    IS 'says how far an attempt of a job has come that a worker of the caller''s has (total NULL: not known), and that the worker is alive; view hipq.progress shows it at once, whatever becomes of the transaction; raises HQ003 if the attempt is over, 42704 if there is no such job, 22023 if done is negative or more than total';

CREATE FUNCTION hipq.claim(
    worker bigint, max_jobs integer DEFAULT 1, wait interval DEFAULT '0', OUT id bigint, OUT attempt integer, OUT queue text, OUT job_type text,
    OUT job_key text, OUT job_data jsonb, OUT deadline timestamptz, OUT retry_count integer, OUT retry_reason text, OUT max_retries integer,
    OUT scheduled_run_time timestamptz, OUT created_time timestamptz, OUT original_job_id bigint
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_claim';
COMMENT ON FUNCTION hipq.claim(bigint, integer, interval)
    IS 'accepts jobs that a worker of the caller''s was given, as many as it may run at once, in the order given; with wait, waits so long for the first one; deadline is when each times out, original_job_id the first of those that it was retried from by hand, if any. 42704, 42501, 55000: not a worker of the caller''s that is there';

CREATE FUNCTION hipq.complete(id bigint, attempt integer, result jsonb DEFAULT 'null') RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_complete';
COMMENT ON FUNCTION hipq.complete(bigint, integer, jsonb)
    IS 'ends an attempt of an external worker with success. HQ003: it is over, nothing was changed; 42501: another role''s; 55000: an executor runs the job; 54000: result is larger than hipq.max_job_data';

CREATE FUNCTION hipq.complete(ids bigint[], attempts integer[], results jsonb[] DEFAULT NULL) RETURNS bigint[]
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_complete_many';
COMMENT ON FUNCTION hipq.complete(bigint[], integer[], jsonb[]) IS 'the same for many; returns the jobs that were completed, the other attempts are over. 2202E: arrays of different length';

CREATE FUNCTION hipq.complete(queue text, job_type text, job_key text, result jsonb DEFAULT 'null') RETURNS bigint
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_complete_by_key';
COMMENT ON FUNCTION hipq.complete(text, text, text, jsonb)
    IS 'the same for the job with that key, whichever attempt runs; returns its id. 42704: no unfinished job has the key; 55000: it does not run, or in an executor';

CREATE FUNCTION hipq.fail(id bigint, attempt integer, error text, retriable boolean DEFAULT true) RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail';
COMMENT ON FUNCTION hipq.fail(bigint, integer, text, boolean)
    IS 'fails an attempt of an external worker, as transient_error or, not retriable, as explicit_failure; returns the state of the job then: retry, final, or error if a retry handler is asked. Errors as of complete';

CREATE FUNCTION hipq.fail(ids bigint[], attempts integer[], errors text[], retriable boolean DEFAULT true) RETURNS bigint[]
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail_many';
COMMENT ON FUNCTION hipq.fail(bigint[], integer[], text[], boolean) IS 'the same for many; returns the jobs that failed by it, the other attempts are over';

CREATE FUNCTION hipq.fail(queue text, job_type text, job_key text, error text, retriable boolean DEFAULT true) RETURNS text
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_fail_by_key';
COMMENT ON FUNCTION hipq.fail(text, text, text, text, boolean) IS 'the same for the job with that key, whichever attempt runs';

CREATE FUNCTION hipq.release(id bigint, attempt integer, delay interval DEFAULT '0') RETURNS void LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_release';
COMMENT ON FUNCTION hipq.release(bigint, integer, interval)
    IS 'gives an attempt of an external worker back: the job waits to be run again after that time, uncharged. Errors as of complete';

CREATE FUNCTION hipq.release(ids bigint[], attempts integer[]) RETURNS bigint[] LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_release_many';
COMMENT ON FUNCTION hipq.release(bigint[], integer[]) IS 'the same for many; returns the jobs that were given back, the other attempts are over';

CREATE FUNCTION hipq.extend(id bigint, attempt integer, more interval) RETURNS timestamptz LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_extend_attempt';
COMMENT ON FUNCTION hipq.extend(bigint, integer, interval)
    IS 'gives an accepted attempt of an external worker more time; returns when it times out now. 55000: it has not been accepted; other errors as of complete';

CREATE FUNCTION hipq.extend(ids bigint[], attempts integer[], more interval) RETURNS bigint[] LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_extend_many';
COMMENT ON FUNCTION hipq.extend(bigint[], integer[], interval) IS 'the same for many; returns the jobs that were given more time, the other attempts are over';

-- Looking ---------------------------------------------------------------------------------------------------------------------------

CREATE FUNCTION hipq.why(id bigint, queue text DEFAULT NULL, OUT condition text, OUT passed boolean, OUT explanation text) RETURNS SETOF record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_why';
COMMENT ON FUNCTION hipq.why(bigint, text) IS 'why a job does or does not run: every condition in the order the scheduler asks them';

CREATE FUNCTION hipq.wait_for(id bigint, timeout interval DEFAULT '1 minute', queue text DEFAULT NULL, OUT outcome text, OUT result jsonb, OUT error text) RETURNS record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_wait_for';
COMMENT ON FUNCTION hipq.wait_for(bigint, interval, text) IS 'waits until a job is final, or for the timeout (NULL: as long as it takes); its outcome then, with the result of a final job';

CREATE FUNCTION hipq.retry_schedule(queue text, job_type text, OUT retry integer, OUT delay interval, OUT since_first_failure interval) RETURNS SETOF record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_retry_schedule';
COMMENT ON FUNCTION hipq.retry_schedule(text, text) IS 'the delays before the retries of a job type, without jitter';

CREATE FUNCTION hipq.retry_schedule(job_type text, OUT retry integer, OUT delay interval, OUT since_first_failure interval) RETURNS SETOF record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_retry_schedule_of_type';
COMMENT ON FUNCTION hipq.retry_schedule(text) IS 'the delays before the retries of a job type that one queue has';

CREATE FUNCTION hipq.is_job_retriable(id bigint, queue text DEFAULT NULL, OUT retriable boolean, OUT reason text) RETURNS record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_is_job_retriable';
COMMENT ON FUNCTION hipq.is_job_retriable(bigint, text)
    IS 'whether the retry policy gives a job another attempt after its last failure, or after the next one if it has not failed, and why';

CREATE FUNCTION hipq.retry_chain(
    id bigint, queue text DEFAULT NULL, OUT job_id bigint, OUT retry_of bigint, OUT attempt integer, OUT state text, OUT reason text, OUT sqlstate text,
    OUT error text, OUT executor_pid integer, OUT worker_id bigint, OUT started_time timestamptz, OUT ended_time timestamptz,
    OUT manual_reason text
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_retry_chain';
COMMENT ON FUNCTION hipq.retry_chain(bigint, text)
    IS 'every attempt of a job and of the jobs it was retried from or as, in order; the latest attempt of each job with its state; manual_reason as in view hipq.jobs. Reads the jobs enqueued since the first one';

CREATE FUNCTION hipq.now() RETURNS timestamptz LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_now';
COMMENT ON FUNCTION hipq.now() IS 'hipq''s idea of the present: clock_timestamp() plus setting hipq.clock_offset';

CREATE FUNCTION hipq.version() RETURNS text LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_version';
COMMENT ON FUNCTION hipq.version() IS 'version of the library that serves this session';

-- For users' tests ------------------------------------------------------------------------------------------------------------------

CREATE FUNCTION hipq.enqueued(job_type text DEFAULT NULL, queue text DEFAULT NULL) RETURNS SETOF hipq.job
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_enqueued';
COMMENT ON FUNCTION hipq.enqueued(text, text) IS 'jobs that wait, those of the caller''s open transaction too, in the order of their ids; of one type or queue, or of all queues that the caller may read';

CREATE FUNCTION hipq.run_until_idle(queue text, max_jobs integer DEFAULT 1000) RETURNS integer LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_run_until_idle';
COMMENT ON FUNCTION hipq.run_until_idle(text, integer)
    IS 'runs due jobs of a queue in the caller''s session and transaction, each in a subtransaction, until there are none or max_jobs have run; returns how many have; for the queue owner, in a session of his own, unless hipq.allow_foreign_handlers is on';

CREATE FUNCTION hipq.dry_run(id bigint, queue text DEFAULT NULL, OUT result jsonb, OUT error text, OUT sqlstate text, OUT duration interval) RETURNS record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_dry_run';
COMMENT ON FUNCTION hipq.dry_run(bigint, text)
    IS 'calls the handler of a waiting or final job in the caller''s session and rolls back what it did; its result, or its error (NONE = none), and how long it took; for the queue owner, in a session of his own, unless hipq.allow_foreign_handlers is on';

-- For views -------------------------------------------------------------------------------------------------------------------------

CREATE FUNCTION hipq._executors(
    OUT pid integer, OUT database oid, OUT role oid, OUT status text, OUT started_time timestamptz,
    OUT queue_id integer, OUT job_id bigint, OUT attempt integer, OUT job_type text, OUT job_started_time timestamptz, OUT jobs_done bigint
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__executors';
COMMENT ON FUNCTION hipq._executors() IS 'executors of the server from shared memory; view hipq.executors shows them';

CREATE FUNCTION hipq._running_jobs(
    OUT pid integer, OUT queue_id integer, OUT job_id bigint, OUT attempt integer, OUT job_type text, OUT started_time timestamptz, OUT is_locked boolean,
    OUT deadline timestamptz, OUT worker_id bigint, OUT is_accepted boolean
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__running_jobs';
COMMENT ON FUNCTION hipq._running_jobs()
    IS 'jobs of this database that executors run or external workers have, from shared memory; view hipq.running shows them';

CREATE FUNCTION hipq._progress(
    OUT queue_id integer, OUT job_id bigint, OUT attempt integer, OUT done bigint, OUT total bigint, OUT message text, OUT reported_time timestamptz,
    OUT pid integer, OUT worker_id bigint
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__progress';
COMMENT ON FUNCTION hipq._progress() IS 'how far the jobs of this database that run have come, from shared memory; view hipq.progress shows it';

CREATE FUNCTION hipq._lanes(
    OUT queue_id integer, OUT job_type text, OUT priority integer, OUT due_time timestamptz, OUT frontier_time timestamptz, OUT frontier_id bigint,
    OUT pockets integer, OUT notes integer, OUT is_read boolean
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__lanes';
COMMENT ON FUNCTION hipq._lanes() IS 'lanes of this database from shared memory; view hipq.lanes shows them';

CREATE FUNCTION hipq._limiters(OUT queue_id integer, OUT job_type text, OUT used bigint, OUT jobs integer) RETURNS SETOF record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__limiters';
COMMENT ON FUNCTION hipq._limiters() IS 'what runs in each queue (job_type NULL) and of each job type in thousandths of throttle_factor, from shared memory; views hipq.queues and hipq.job_types show it';

CREATE FUNCTION hipq._workers(
    OUT worker_id bigint, OUT place integer, OUT is_active boolean, OUT health text, OUT last_check timestamptz, OUT consecutive_failures integer,
    OUT total_executions bigint, OUT failed_executions bigint, OUT average_execution_time_ms double precision, OUT queue_depth integer, OUT failure_rate double precision, OUT running_jobs integer,
    OUT last_heartbeat timestamptz, OUT pid integer
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__workers';
COMMENT ON FUNCTION hipq._workers() IS 'external workers of this database from shared memory; view hipq.workers shows them';

CREATE FUNCTION hipq._worker_services(OUT queue_id integer, OUT job_type text, OUT workers integer, OUT best_worker bigint) RETURNS SETOF record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__worker_services';
COMMENT ON FUNCTION hipq._worker_services() IS 'job types that external workers serve, how many of them are there, and which is the next to be given a job; view hipq.job_types shows it';

CREATE FUNCTION hipq._alerts(OUT alert text, OUT times bigint, OUT first_time timestamptz, OUT last_time timestamptz, OUT detail text, OUT hint text) RETURNS SETOF record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__alerts';
COMMENT ON FUNCTION hipq._alerts() IS 'what shared memory has to tell an operator; view hipq.alerts shows it';
CREATE FUNCTION hipq._overdue(OUT alert text, OUT severity text, OUT jobs bigint, OUT first_time timestamptz, OUT last_time timestamptz, OUT detail text, OUT hint text) RETURNS SETOF record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__overdue';
COMMENT ON FUNCTION hipq._overdue() IS 'jobs of this database that should have started long ago, a row for each thing that keeps them; view hipq.alerts shows it';
CREATE FUNCTION hipq._jobs_set_aside(OUT queue_id integer, OUT job_id bigint, OUT set_aside_time timestamptz, OUT error text) RETURNS SETOF record
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__jobs_set_aside';
COMMENT ON FUNCTION hipq._jobs_set_aside() IS 'jobs whose end cannot be written down, of queues that the caller may look at; view hipq.alerts shows it';

CREATE FUNCTION hipq._first_unmet_condition(queue_id integer, job_type text, time_windows text, throttle_key text, throttle_factor numeric) RETURNS text
    LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'hipq__first_unmet_condition';
COMMENT ON FUNCTION hipq._first_unmet_condition(integer, text, text, text, numeric) IS 'what keeps due jobs of that kind from starting: window, hold, pause, handler, throttle or none; view hipq.queues counts by it';

CREATE FUNCTION hipq._is_running(queue_id integer, id bigint) RETURNS boolean LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'hipq__is_running';
COMMENT ON FUNCTION hipq._is_running(integer, bigint)
    IS 'whether an executor runs the job: one claimed by a lock, whose row still says that it waits; false for who may not read the queue';

-- Stable, so that whoever does not ask for the column does not pay for it.
CREATE FUNCTION hipq._masked(queue_id integer, job_type text, job_data jsonb) RETURNS jsonb LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__masked';
COMMENT ON FUNCTION hipq._masked(integer, text, jsonb) IS 'job_data as views show it: secret parameters of the job type are ***; NULL for who may not read the queue';
CREATE FUNCTION hipq._masked_job(queue_id integer, job_type text, job jsonb) RETURNS jsonb LANGUAGE c STABLE STRICT AS 'MODULE_PATHNAME', 'hipq__masked_job';
COMMENT ON FUNCTION hipq._masked_job(integer, text, jsonb) IS 'the same of a whole job in a dead letter';

CREATE FUNCTION hipq._fitting_data(queue_id integer, job_type text, job_id bigint, job_data jsonb) RETURNS jsonb LANGUAGE c STRICT AS 'MODULE_PATHNAME', 'hipq__fitting_data';
COMMENT ON FUNCTION hipq._fitting_data(integer, text, bigint, jsonb)
    IS 'job_data of a job that comes from another queue, with the defaults of this one''s job type; 22023: they do not fit its parameters';

CREATE FUNCTION hipq._next_run(cron text, last_run_time timestamptz) RETURNS timestamptz LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__next_run';
COMMENT ON FUNCTION hipq._next_run(text, timestamptz) IS 'when a cron expression comes next, by pg_cron''s clocks; NULL = never, or it cannot be read';

CREATE FUNCTION hipq._lost_schedules(OUT schedule_id integer, OUT name text) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__lost_schedules';
COMMENT ON FUNCTION hipq._lost_schedules() IS 'schedules that pg_cron has no job for; view hipq.alerts shows them';
CREATE FUNCTION hipq._has_cron_entry(schedule_id integer) RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__has_cron_entry';
COMMENT ON FUNCTION hipq._has_cron_entry(integer) IS 'whether pg_cron in this database has an active job for the schedule';

CREATE FUNCTION hipq._may(queue_id integer, privilege text) RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__may';
COMMENT ON FUNCTION hipq._may(integer, text) IS 'whether the current user has enqueue, work, read or control on a queue';

-- Not immutable in truth: so that the planner leaves out what the caller may not see, before it looks at any table. Plans do not outlive a change of that.
CREATE FUNCTION hipq._readable_queues() RETURNS integer[] LANGUAGE c IMMUTABLE AS 'MODULE_PATHNAME', 'hipq__readable_queues';
COMMENT ON FUNCTION hipq._readable_queues() IS 'queues that the current user may read, as the planner of a view asks';

CREATE FUNCTION hipq._visible_queues() RETURNS integer[] LANGUAGE c IMMUTABLE AS 'MODULE_PATHNAME', 'hipq__visible_queues';
COMMENT ON FUNCTION hipq._visible_queues() IS 'the same for views without job data: all queues for members of pg_monitor';

CREATE FUNCTION hipq._reachable_queues(queues integer[]) RETURNS integer[] LANGUAGE c STRICT IMMUTABLE AS 'MODULE_PATHNAME', 'hipq__reachable_queues';
COMMENT ON FUNCTION hipq._reachable_queues(integer[])
    IS 'those of these queues whose tables nobody has locked against readers, with a WARNING for each other one, as the planner of a view asks';

CREATE FUNCTION hipq._is_one_of_support(internal) RETURNS internal LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__is_one_of_support';
COMMENT ON FUNCTION hipq._is_one_of_support(internal) IS 'tells the planner that hipq._is_one_of() costs and selects nothing';
CREATE FUNCTION hipq._is_one_of(queue_id integer, queues integer[]) RETURNS boolean LANGUAGE c STRICT IMMUTABLE COST 0.0001
    SUPPORT hipq._is_one_of_support AS 'MODULE_PATHNAME', 'hipq__is_one_of';
COMMENT ON FUNCTION hipq._is_one_of(integer, integer[]) IS 'queue_id = ANY (queues), so cheap that it is asked of a row before anything else is';

CREATE FUNCTION hipq._is_held() RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__is_held';
COMMENT ON FUNCTION hipq._is_held() IS 'whether this database is held: its identity is not the one stored with the jobs';

-- Nothing to PUBLIC.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA hipq FROM PUBLIC;
-- Whoever writes a value of the domain checks it.
GRANT EXECUTE ON FUNCTION hipq._are_time_windows(text) TO PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA hipq FROM PUBLIC;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA hipq FROM PUBLIC;
