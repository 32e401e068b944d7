-- A trip is booked in three steps at three partners: flight, hotel, card. Each step is a job, and so is what takes it back.

CREATE EXTENSION hipq;
CREATE ROLE travel LOGIN;
CREATE SCHEMA travel AUTHORIZATION travel;
SELECT hipq.create_queue('travel.booking', owner => 'travel');
SET ROLE travel;

-- The plan of the saga: its steps in order, and the job types that do and undo them.
CREATE TABLE travel.plan (
    step integer PRIMARY KEY,
    do_type text NOT NULL,
    undo_type text NOT NULL
);
INSERT INTO travel.plan VALUES
    (1, 'reserve flight', 'cancel flight'), (2, 'reserve hotel', 'cancel hotel'), (3, 'charge card', 'refund card');

CREATE TABLE travel.trip (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer text NOT NULL,
    flight text NOT NULL,
    hotel text NOT NULL,
    price integer NOT NULL,
    state text NOT NULL DEFAULT 'booking' CHECK (state IN ('booking', 'booked', 'giving up', 'given up')),
    problem text
);
CREATE TABLE travel.journal (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    trip_id bigint NOT NULL REFERENCES travel.trip,
    job_type text NOT NULL
);

-- The partners. Here they are tables; elsewhere they are services, and the types below are run by a worker that calls them.
CREATE TABLE travel.flight (name text PRIMARY KEY, seats integer NOT NULL CONSTRAINT flight_has_a_seat CHECK (seats >= 0));
CREATE TABLE travel.hotel (
    name text PRIMARY KEY,
    rooms integer NOT NULL CONSTRAINT hotel_has_a_room CHECK (rooms >= 0),
    is_reachable boolean NOT NULL DEFAULT true
);
CREATE TABLE travel.card (customer text PRIMARY KEY, credit integer NOT NULL CONSTRAINT card_has_credit CHECK (credit >= 0));
INSERT INTO travel.flight VALUES ('LX 38', 3);
INSERT INTO travel.hotel VALUES ('Astoria', 3, true), ('Full House', 0, true), ('Far Inn', 1, true);
INSERT INTO travel.card VALUES ('ann', 1000), ('bob', 100), ('eve', 1000), ('joe', 100);

-- Books a trip: enqueues the first step.
CREATE FUNCTION travel.book(customer text, flight text, hotel text, price integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    trip_id bigint;
BEGIN
    INSERT INTO travel.trip (customer, flight, hotel, price) VALUES (customer, flight, hotel, price) RETURNING id INTO trip_id;
    PERFORM travel.enqueue((SELECT do_type FROM travel.plan WHERE step = 1), trip_id);
    RETURN trip_id;
END $$;

-- Because of the key, a trip has at most one unfinished job of a type, however often it is
-- enqueued.
CREATE FUNCTION travel.enqueue(job_type text, trip_id bigint) RETURNS void LANGUAGE sql AS $$
    SELECT hipq.enqueue(job_type, jsonb_build_object('trip', trip_id), queue => 'travel.booking', job_key => 'trip ' || trip_id,
                        on_duplicate => 'return')
$$;

-- A step has been done: on to the next one, or the trip is booked. In the transaction of the step, so neither is without the other.
CREATE FUNCTION travel.go_on(done_type text, trip_id bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    done_step integer := (SELECT step FROM travel.plan WHERE do_type = done_type);
    next_type text := (SELECT do_type FROM travel.plan WHERE step = done_step + 1);
BEGIN
    INSERT INTO travel.journal (trip_id, job_type) VALUES (trip_id, done_type);
    IF next_type IS NULL THEN
        UPDATE travel.trip SET state = 'booked' WHERE id = trip_id;
    ELSE
        PERFORM travel.enqueue(next_type, trip_id);
    END IF;
END $$;

-- A step has been undone, or there was nothing to undo: back to the one before it, or the trip is given up.
CREATE FUNCTION travel.go_back(from_step integer, trip_id bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    undo_type text := (SELECT plan.undo_type FROM travel.plan WHERE step = from_step - 1);
BEGIN
    IF undo_type IS NULL THEN
        UPDATE travel.trip SET state = 'given up' WHERE id = trip_id;
    ELSE
        PERFORM travel.enqueue(undo_type, trip_id);
    END IF;
END $$;

CREATE FUNCTION travel.undone(undone_type text, trip_id bigint) RETURNS void LANGUAGE sql AS $$
    INSERT INTO travel.journal (trip_id, job_type) VALUES (trip_id, undone_type);
    SELECT travel.go_back((SELECT step FROM travel.plan WHERE undo_type = undone_type), trip_id)
$$;

-- The dead letter handler: a step has failed for good, so what was done before is undone. What it writes and the dead letter's
-- state "handled" are one transaction. A dead letter of what undoes is left to a human being: that handler is not called for it.
CREATE FUNCTION travel.give_up(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    trip_id bigint := job.job_data->>'trip';
    failed_step integer := (SELECT step FROM travel.plan WHERE do_type = job.job_type);
BEGIN
    IF failed_step IS NULL THEN
        RAISE EXCEPTION '"%" of trip % has to be done by hand, or redriven', job.job_type, trip_id;
    END IF;
    UPDATE travel.trip SET state = 'giving up', problem = job.error WHERE id = trip_id;
    PERFORM travel.go_back(failed_step, trip_id);
END $$;
SELECT hipq.alter_queue('travel.booking', dead_letter_handler => 'travel.give_up');
