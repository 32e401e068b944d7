-- Breakers: the rule of a type, open_breaker() and close_breaker(): results and messages.
SET client_min_messages = warning;
CREATE ROLE regress_hipq_breaker_owner LOGIN;
CREATE ROLE regress_hipq_breaker_reader LOGIN;
SELECT hipq.create_queue('breakers.main', owner => 'regress_hipq_breaker_owner') > 0 AS made;
SELECT hipq.register_job_type('breakers.main', 'call', handler_kind => 'notify',
    breaker => ' 50 % of 20 in minute, open 90 seconds ');
SELECT hipq.register_job_type('breakers.main', 'plain', handler_kind => 'notify');
SELECT job_type, breaker, breaker_state, breaker_until
FROM hipq.job_types_detail
WHERE queue = 'breakers.main'
ORDER BY job_type;

-- Rules with mistakes.
SELECT hipq.register_job_type('breakers.main', 'wrong', handler_kind => 'notify',
    breaker => '50% of many');
SELECT hipq.alter_job_type('breakers.main', 'call', breaker => '50% of 20 in 1 min');
UPDATE hipq.job_type SET breaker = '200% of 1 in 1 s, open 1 s' WHERE name = 'call';

SELECT hipq.alter_job_type('breakers.main', 'call', breaker => 'none');
SELECT breaker FROM hipq.job_types_detail WHERE queue = 'breakers.main' AND job_type = 'call';
SELECT hipq.alter_job_type('breakers.main', 'call', breaker => '1% of 1 in 1 s, open 1 day');
SELECT breaker FROM hipq.job_types_detail WHERE queue = 'breakers.main' AND job_type = 'call';

-- Users open and close them.
SELECT hipq.open_breaker('breakers.main', 'call', '1 hour', 'they move');
SELECT hipq.open_breaker('breakers.main', 'call');
SELECT breaker_state, breaker_until FROM hipq.job_types_detail
WHERE queue = 'breakers.main' AND job_type = 'call';
SELECT job_type, open_until, reason FROM hipq.breaker_state;
SELECT alert, severity, times, detail LIKE '%call of queue breakers.main (open since %' AS names_it
FROM hipq.alerts_detail
WHERE alert = 'breaker open';
SELECT hipq.close_breaker('breakers.main', 'call');
SELECT hipq.close_breaker('breakers.main', 'call');
SELECT count(*) FROM hipq.breaker_state;

-- Refusals.
SELECT hipq.open_breaker('breakers.main', 'call', '0');
SELECT hipq.open_breaker('breakers.main', 'missing');
SELECT hipq.close_breaker('breakers.missing', 'call');
BEGIN;
SELECT hipq.open_breaker('breakers.main', 'plain');
PREPARE TRANSACTION 'breaker';
ROLLBACK;
SELECT hipq.grant_queue('breakers.main', 'regress_hipq_breaker_reader', 'operate');
SET ROLE regress_hipq_breaker_reader;
SELECT hipq.open_breaker('breakers.main', 'call');
SELECT hipq.close_breaker('breakers.main', 'call');
RESET ROLE;
SELECT hipq.grant_queue('breakers.main', 'regress_hipq_breaker_reader', 'control');
SET ROLE regress_hipq_breaker_reader;
SELECT hipq.open_breaker('breakers.main', 'call');
SELECT hipq.close_breaker('breakers.main', 'call');
RESET ROLE;

SELECT hipq.drop_queue('breakers.main');
DROP ROLE regress_hipq_breaker_owner;
DROP ROLE regress_hipq_breaker_reader;
