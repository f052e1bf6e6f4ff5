-- Keep an evaluation of a queue for a reviewer. Returns when the reviewer got it: earlier than now where
-- it is still kept for them. NULL: others have all places, or its stream of reviews has other than
-- `seen_reviews` events, so the caller decided on old ones. Claims of `done_by` take no place.
CREATE OR REPLACE FUNCTION failproof.claim_review(
    claim_run_id uuid,
    claim_queue text,
    claim_evaluation_id uuid,
    claim_reviewer text,
    review_stream uuid,
    seen_reviews bigint,
    done_by text [],
    places integer,
    claim_seconds double precision
) RETURNS timestamptz
LANGUAGE plpgsql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    claimed timestamptz;
BEGIN
    LOCK TABLE failproof.review_claims IN SHARE ROW EXCLUSIVE MODE;
    IF seen_reviews <> (
        SELECT count(*) FROM failproof.events WHERE originator_id = review_stream
    ) OR places <= (
        SELECT count(*) FROM failproof.review_claims AS c
        WHERE c.run_id = claim_run_id
            AND c.queue = claim_queue
            AND c.evaluation_id = claim_evaluation_id
            AND c.reviewer <> claim_reviewer
            AND c.reviewer <> ALL (done_by)
            AND c.expires_at > clock_timestamp()
    ) THEN
        RETURN NULL;
    END IF;
    INSERT INTO failproof.review_claims AS c
        (run_id, queue, evaluation_id, reviewer, claimed_at, expires_at)
    VALUES (
        claim_run_id, claim_queue, claim_evaluation_id, claim_reviewer, clock_timestamp(),
        failproof.lease_end(claim_seconds)
    )
    ON CONFLICT (run_id, queue, evaluation_id, reviewer) DO UPDATE
    SET
        claimed_at = CASE
            WHEN c.expires_at > clock_timestamp() THEN c.claimed_at
            ELSE excluded.claimed_at
        END,
        expires_at = excluded.expires_at
    RETURNING c.claimed_at INTO claimed;
    RETURN claimed;
END;
$$;
