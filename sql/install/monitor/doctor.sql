-- The function that looks for mistakes in the set-up of hipq.

CREATE FUNCTION hipq.doctor(
    OUT severity text, OUT subject text, OUT finding text, OUT detail text, OUT hint text,
    OUT statement text
) RETURNS SETOF record LANGUAGE c AS 'MODULE_PATHNAME', 'hipq_doctor';
COMMENT ON FUNCTION hipq.doctor()
    IS 'tells what is wrong in how hipq is set up here, the worst first: severity (error, warning, '
    'information), what it is about, and the statement that mends it, where nobody has to choose';
