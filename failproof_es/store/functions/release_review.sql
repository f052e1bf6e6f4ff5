-- Let others have the place of a reviewer at an evaluation of a queue.
CREATE OR REPLACE FUNCTION failproof.release_review(
    claim_run_id uuid, claim_queue text, claim_evaluation_id uuid, claim_reviewer text
) RETURNS void
LANGUAGE sql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DELETE FROM failproof.review_claims AS c
WHERE c.run_id = claim_run_id
    AND c.queue = claim_queue
    AND c.evaluation_id = claim_evaluation_id
    AND c.reviewer = claim_reviewer
$$;
