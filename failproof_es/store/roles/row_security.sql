-- The row security of the log. Everybody else who may read a table reads all of it: the policy for
-- failproof_reader restricts, so that a login with this role and another one sees no more. A table that
-- is not named here shows a reader nothing. The ledger has hashes and no texts: a reader proves their events.
DO $$
DECLARE
    secured record;
BEGIN
    FOR secured IN
        SELECT
            c.relname,
            c.relrowsecurity,
            CASE
                WHEN c.relname = 'events' THEN
                    'run_id IN (SELECT failproof.visible_runs()) OR run_id IS NULL AND ('
                    'notification_id IN (SELECT failproof.visible_side_events()) '
                    'OR topic = ''PromptStored'' '
                    'AND originator_id IN (SELECT failproof.visible_prompts()))'
                WHEN c.relname IN (
                    'archived_events', 'run_numbers', 'leases', 'run_shards', 'run_budgets',
                    'shard_budgets', 'run_labels', 'review_claims'
                ) THEN 'run_id IN (SELECT failproof.visible_runs())'
                WHEN c.relname IN ('ledger_identity', 'ledger_tiles', 'ledger_checkpoints')
                    THEN 'true'
                WHEN c.relname = 'project_grants' THEN 'person = (SELECT failproof.reading_person())'
                ELSE 'false'
            END AS rows_of_reader
        FROM pg_class AS c
        WHERE c.relnamespace = 'failproof'::regnamespace AND c.relkind IN ('r', 'p')
    LOOP
        EXECUTE format('DROP POLICY IF EXISTS everybody ON failproof.%I', secured.relname);
        EXECUTE format('DROP POLICY IF EXISTS readers ON failproof.%I', secured.relname);
        EXECUTE format('CREATE POLICY everybody ON failproof.%I USING (true)', secured.relname);
        EXECUTE format(
            'CREATE POLICY readers ON failproof.%I AS RESTRICTIVE TO failproof_reader USING (%s)',
            secured.relname, secured.rows_of_reader
        );
        IF NOT secured.relrowsecurity THEN
            EXECUTE format('ALTER TABLE failproof.%I ENABLE ROW LEVEL SECURITY', secured.relname);
        END IF;
    END LOOP;
END;
$$;
