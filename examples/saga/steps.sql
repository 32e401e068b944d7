-- The steps of the saga and what undoes them: six handlers. Each is one transaction with the end of its job and with the next job.
--
-- A CHECK that fails (no seat, no credit) is final; what may pass (a hotel that cannot be reached) is retried.

SET ROLE travel;

CREATE FUNCTION travel.trip_of(data jsonb) RETURNS travel.trip LANGUAGE sql
    AS $$ SELECT trip FROM travel.trip WHERE id = (data->>'trip')::bigint $$;

CREATE FUNCTION travel.reserve_flight(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    trip travel.trip := travel.trip_of(data);
BEGIN
    UPDATE travel.flight SET seats = seats - 1 WHERE name = trip.flight;
    PERFORM travel.go_on('reserve flight', trip.id);
END $$;

CREATE FUNCTION travel.cancel_flight(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    trip travel.trip := travel.trip_of(data);
BEGIN
    UPDATE travel.flight SET seats = seats + 1 WHERE name = trip.flight;
    PERFORM travel.undone('cancel flight', trip.id);
END $$;

CREATE FUNCTION travel.change_rooms(hotel_name text, change integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF NOT (SELECT is_reachable FROM travel.hotel WHERE name = hotel_name) THEN
        PERFORM hipq.fail_retriable('hotel ' || hotel_name || ' does not answer');
    END IF;
    UPDATE travel.hotel SET rooms = rooms + change WHERE name = hotel_name;
END $$;

CREATE FUNCTION travel.reserve_hotel(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    trip travel.trip := travel.trip_of(data);
BEGIN
    PERFORM travel.change_rooms(trip.hotel, -1);
    PERFORM travel.go_on('reserve hotel', trip.id);
END $$;

CREATE FUNCTION travel.cancel_hotel(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    trip travel.trip := travel.trip_of(data);
BEGIN
    PERFORM travel.change_rooms(trip.hotel, 1);
    PERFORM travel.undone('cancel hotel', trip.id);
END $$;

CREATE FUNCTION travel.charge_card(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    trip travel.trip := travel.trip_of(data);
BEGIN
    UPDATE travel.card SET credit = credit - trip.price WHERE customer = trip.customer;
    PERFORM travel.go_on('charge card', trip.id);
END $$;

CREATE FUNCTION travel.refund_card(data jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    trip travel.trip := travel.trip_of(data);
BEGIN
    UPDATE travel.card SET credit = credit + trip.price WHERE customer = trip.customer;
    PERFORM travel.undone('refund card', trip.id);
END $$;

-- Steps are tried a few times, then the trip is given up. Jobs that undo steps must succeed, so
-- they are tried for days. These delays are for the example; in production use retry_base '10 s',
-- retry_max '1 hour'.
SELECT hipq.register_job_type('travel.booking', job_type, handler => 'travel.' || replace(job_type, ' ', '_'),
                              max_retries => 3, retry_base => '200 ms')
FROM (SELECT do_type FROM travel.plan) AS plan (job_type);
SELECT hipq.register_job_type('travel.booking', job_type, handler => 'travel.' || replace(job_type, ' ', '_'),
                              max_retries => 1000, retry_base => '200 ms', retry_max => '1 s')
FROM (SELECT undo_type FROM travel.plan) AS plan (job_type);
