-- A trip is booked in three steps at three partners: flight, hotel, card. Each step is a job, and so is what takes it back.
-- All jobs of a trip are one graph.

CREATE EXTENSION hipq;
CREATE ROLE travel LOGIN;
CREATE SCHEMA travel AUTHORIZATION travel;
SELECT hipq.create_queue('travel.booking', owner => 'travel');
SET ROLE travel;

CREATE TABLE travel.trip (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer text NOT NULL,
    flight text NOT NULL,
    hotel text NOT NULL,
    price integer NOT NULL,
    state text NOT NULL DEFAULT 'booking' CHECK (state IN ('booking', 'booked', 'given up')),
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

-- The saga of a trip. A step comes after the one before it, and is skipped if that one fails. The jobs that undo steps run in
-- reverse, when the steps have ended in any way. They do nothing if the trip is booked.
CREATE FUNCTION travel.saga(trip_id bigint) RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_agg(job || jsonb_build_object('job_type', job->'name', 'job_key', 'trip ' || trip_id,
                                               'job_data', jsonb_build_object('trip', trip_id)))
    FROM jsonb_array_elements('[
        {"name": "reserve flight"},
        {"name": "reserve hotel", "after": ["reserve flight"], "on_failure": "skip"},
        {"name": "charge card", "after": ["reserve hotel"], "on_failure": "skip"},
        {"name": "cancel hotel", "after": ["reserve flight", "reserve hotel", "charge card"],
            "after_policy": "finished"},
        {"name": "cancel flight", "after": ["cancel hotel"]},
        {"name": "close trip", "after": ["cancel flight"]}]') AS job
$$;

CREATE FUNCTION travel.book(customer text, flight text, hotel text, price integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    trip_id bigint;
BEGIN
    INSERT INTO travel.trip (customer, flight, hotel, price) VALUES (customer, flight, hotel, price) RETURNING id INTO trip_id;
    PERFORM hipq.enqueue_graph(travel.saga(trip_id), queue => 'travel.booking');
    RETURN trip_id;
END $$;
