-- What other nodes of a sharded instance are asked.

CREATE FUNCTION hipq._answer(instance_name text, asker integer, role text, function text, id bigint, arguments text[], is_about_letter boolean) RETURNS text
    LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__answer';
COMMENT ON FUNCTION hipq._answer(text, integer, text, text, bigint, text[], boolean)
    IS 'does for another node what a role has called there, by the id of a job, with the rights that '
    'this role has here; NULL = there is no such job';

CREATE FUNCTION hipq._wait_until_read(instance_name text) RETURNS boolean LANGUAGE c AS 'MODULE_PATHNAME', 'hipq__wait_until_read';
COMMENT ON FUNCTION hipq._wait_until_read(text)
    IS 'waits for some seconds until others have read what this node has sent; its router asks';
