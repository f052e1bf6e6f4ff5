-- What is ours in the schema of the queue, after the package made its own objects in it.

-- Which processes work, for people. A row decides nothing.
CREATE TABLE failproof_queue.failproof_workers (
    worker_id uuid PRIMARY KEY,
    holder text NOT NULL,
    who text NOT NULL,
    host text NOT NULL,
    process integer NOT NULL,
    code_version text NOT NULL,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    heartbeat timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished bigint NOT NULL DEFAULT 0,
    per_second double precision,
    refusals jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(refusals) = 'object')
);

-- A NOTIFY inside the transaction that plans a run would hold up every commit of the server.
-- Workers look into the queue every second.
DROP TRIGGER procrastinate_jobs_notify_queue_job_inserted_v1
ON failproof_queue.procrastinate_jobs;

-- Its functions find its tables whatever the search path of the caller is.
DO $$
DECLARE
    routine regprocedure;
BEGIN
    FOR routine IN
        SELECT oid::regprocedure FROM pg_proc
        WHERE pronamespace = 'failproof_queue'::regnamespace
    LOOP
        EXECUTE format(
            'ALTER FUNCTION %s SET search_path = failproof_queue, pg_catalog, pg_temp', routine
        );
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', routine);
    END LOOP;
END;
$$;
