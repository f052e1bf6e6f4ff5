-- The positions of the operations on these runs, and of the reviews of their evaluations.
CREATE OR REPLACE FUNCTION failproof.visible_side_events() RETURNS SETOF bigint
LANGUAGE sql
STABLE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT s.notification_id
    FROM failproof.side_events AS s
    WHERE s.run_id IN (SELECT failproof.visible_runs());
$$;
