-- A lease changes hands by the next epoch, and in no other way. Within an epoch its holder can renew it
-- until it ends, and let go of it.
CREATE OR REPLACE FUNCTION failproof.refuse_old_epoch() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NEW.run_id <> OLD.run_id
        OR NEW.shard <> OLD.shard
        OR NEW.epoch NOT IN (OLD.epoch, OLD.epoch + 1)
        OR NEW.epoch = OLD.epoch AND (NEW.holder, NEW.acquired_at, NEW.alone)
            IS DISTINCT FROM (OLD.holder, OLD.acquired_at, OLD.alone)
    THEN
        RAISE EXCEPTION
            'the lease of run %, shard %, goes from epoch % to %, not to % of run %, shard %',
            OLD.run_id, OLD.shard, OLD.epoch, OLD.epoch + 1, NEW.epoch, NEW.run_id, NEW.shard
            USING ERRCODE = 'FP002';
    END IF;
    -- Not the time of now: the statement looked at the clock before this trigger does.
    IF NEW.epoch = OLD.epoch
        AND NEW.expires_at > OLD.expires_at
        AND OLD.expires_at <= statement_timestamp()
    THEN
        RAISE EXCEPTION 'epoch % of the lease of run %, shard %, has ended: it has to be claimed again',
            OLD.epoch, OLD.run_id, OLD.shard
            USING ERRCODE = 'FP002';
    END IF;
    RETURN NEW;
END;
$$;
