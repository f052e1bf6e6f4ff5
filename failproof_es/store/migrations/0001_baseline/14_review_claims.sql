-- Who works on an evaluation of a review queue now, so that others get other ones. A hint with an end: a
-- label that comes after it is recorded all the same. The log has the labels.
CREATE TABLE failproof.review_claims (
    run_id uuid NOT NULL,
    queue text NOT NULL,
    evaluation_id uuid NOT NULL,
    reviewer text NOT NULL,
    claimed_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT review_claims_pkey PRIMARY KEY (run_id, queue, evaluation_id, reviewer)
);
COMMENT ON TABLE failproof.review_claims IS
    'Who works on which evaluation of a review queue, and until when it is kept for them.';

CREATE VIEW failproof.review_claim_list WITH (security_invoker = true) AS
SELECT
    run_id,
    queue,
    evaluation_id,
    reviewer,
    claimed_at,
    expires_at
FROM failproof.review_claims;
