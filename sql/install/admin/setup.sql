-- Functions that describe the set-up as one JSON document, and apply it.

CREATE FUNCTION hipq.describe() RETURNS jsonb LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_describe';
COMMENT ON FUNCTION hipq.describe()
    IS 'describes what the caller could set up: the queues that he owns with their instances, job '
    'types, grants, schedules and pauses, without what is as by default';

CREATE FUNCTION hipq.apply(
    state jsonb, dry_run boolean DEFAULT false, drop_others boolean DEFAULT false,
    OUT object text, OUT action text, OUT property text, OUT before jsonb, OUT after jsonb
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_apply';
COMMENT ON FUNCTION hipq.apply(jsonb, boolean, boolean)
    IS 'makes what is set up what a description says, and returns what differed. state: as '
    'describe() returns it; dry_run: changes nothing, and returns what a run would; drop_others: '
    'whether what the sections of the description do not name is dropped';
