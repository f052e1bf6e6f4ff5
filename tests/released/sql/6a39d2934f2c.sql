-- Workers have nothing to do in this run: it has ended, or is paused.
CREATE OR REPLACE FUNCTION failproof.close_shards(closed_run_id uuid) RETURNS void
LANGUAGE sql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE failproof.run_shards SET is_open = false WHERE run_id = closed_run_id AND is_open;
$$;
