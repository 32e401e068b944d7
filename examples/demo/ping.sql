-- One job on an idle queue. The client has the commit's answer before it asks for the time: what follows is commit to start.
BEGIN;
SELECT hipq.enqueue('ping', '{}', queue => 'demo.latency') AS id \gset
COMMIT;
INSERT INTO demo.ping (job_id, committed_time) VALUES (:id, clock_timestamp());
CALL demo.wait_for(:id);
