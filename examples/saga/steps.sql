-- The jobs of the saga: six handlers. Each is one transaction with the end of its job.
--
-- A CHECK that fails (no seat, no credit) is final; what may pass (a hotel that cannot be reached) is retried.

SET ROLE travel;

CREATE FUNCTION travel.trip_of(job hipq.job) RETURNS travel.trip LANGUAGE sql
    AS $$ SELECT trip FROM travel.trip WHERE id = (job.job_data->>'trip')::bigint $$;

CREATE FUNCTION travel.note(job hipq.job) RETURNS void LANGUAGE sql
    AS $$ INSERT INTO travel.journal (trip_id, job_type) VALUES ((job.job_data->>'trip')::bigint, job.job_type) $$;

-- Whether a step has to be undone: it was done, and the trip is not booked.
CREATE FUNCTION travel.is_to_undo(step text) RETURNS boolean LANGUAGE sql
    AS $$ SELECT hipq.outcome_of(step) = 'succeeded' AND hipq.outcome_of('charge card') <> 'succeeded' $$;

CREATE FUNCTION travel.reserve_flight(job hipq.job) RETURNS void LANGUAGE sql AS $$
    UPDATE travel.flight SET seats = seats - 1 WHERE name = (travel.trip_of(job)).flight;
    SELECT travel.note(job)
$$;

CREATE FUNCTION travel.cancel_flight(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF travel.is_to_undo('reserve flight') THEN
        UPDATE travel.flight SET seats = seats + 1 WHERE name = (travel.trip_of(job)).flight;
        PERFORM travel.note(job);
    END IF;
END $$;

CREATE FUNCTION travel.change_rooms(hotel_name text, change integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT (SELECT is_reachable FROM travel.hotel WHERE name = hotel_name) THEN
        PERFORM hipq.fail_retriable('hotel ' || hotel_name || ' does not answer');
    END IF;
    UPDATE travel.hotel SET rooms = rooms + change WHERE name = hotel_name;
END $$;

CREATE FUNCTION travel.reserve_hotel(job hipq.job) RETURNS void LANGUAGE sql AS $$
    SELECT travel.change_rooms((travel.trip_of(job)).hotel, -1);
    SELECT travel.note(job)
$$;

CREATE FUNCTION travel.cancel_hotel(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF travel.is_to_undo('reserve hotel') THEN
        PERFORM travel.change_rooms((travel.trip_of(job)).hotel, 1);
        PERFORM travel.note(job);
    END IF;
END $$;

-- The last step, with which the trip is booked. So no job has to refund the card.
CREATE FUNCTION travel.charge_card(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    own travel.trip := travel.trip_of(job);
BEGIN
    UPDATE travel.card SET credit = credit - own.price WHERE customer = own.customer;
    UPDATE travel.trip SET state = 'booked' WHERE id = own.id;
    PERFORM travel.note(job);
END $$;

-- A trip that is not booked is given up, because of the step that failed.
CREATE FUNCTION travel.close_trip(job hipq.job) RETURNS void LANGUAGE sql AS $$
    UPDATE travel.trip
    SET state = 'given up',
        problem = (
            SELECT step.error FROM hipq.graph_jobs AS own JOIN hipq.graph_jobs_detail AS step USING (graph_id)
            WHERE own.job_id = job.id AND step.outcome IN ('failed', 'cancelled')
        )
    WHERE id = (job.job_data->>'trip')::bigint AND state = 'booking'
$$;

-- Steps are tried a few times, then the trip is given up. Jobs that undo steps must succeed, so
-- they are tried for days. These delays are for the example; in production use retry_base '10 s',
-- retry_max '1 hour'.
SELECT hipq.register_job_type('travel.booking', job_type, handler => 'travel.' || replace(job_type, ' ', '_'),
                              max_retries => 3, retry_base => '200 ms')
FROM unnest('{reserve flight, reserve hotel, charge card}'::text[]) AS job_type;
SELECT hipq.register_job_type('travel.booking', job_type, handler => 'travel.' || replace(job_type, ' ', '_'),
                              max_retries => 1000, retry_base => '200 ms', retry_max => '1 s')
FROM unnest('{cancel hotel, cancel flight, close trip}'::text[]) AS job_type;
