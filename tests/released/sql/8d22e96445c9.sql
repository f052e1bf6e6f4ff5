-- Let workers drive a run, and return how many pieces each of its shards holds: as many as were
-- recorded when it was first cut, whoever asks. A piece is one repetition of one case, by every model;
-- in a run that an older version cut it is a whole case, with all its repetitions.
CREATE OR REPLACE FUNCTION failproof.open_shards(
    opened_run_id uuid, planned_cases bigint, cases_of_a_shard integer
) RETURNS integer
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    recorded record;
BEGIN
    INSERT INTO failproof.run_shards AS r (run_id, cases, shard_cases, is_open)
    VALUES (opened_run_id, planned_cases, cases_of_a_shard, true)
    ON CONFLICT (run_id) DO UPDATE SET is_open = true
    RETURNING r.cases, r.shard_cases INTO recorded;
    IF recorded.cases <> planned_cases THEN
        RAISE EXCEPTION 'run % has % pieces, and its shards are cut from %',
            opened_run_id, planned_cases, recorded.cases
            USING ERRCODE = 'FP002';
    END IF;
    RETURN recorded.shard_cases;
END;
$$;
