-- What was sent, for people: every request with its whole body.
CREATE OR REPLACE VIEW failproof.sent_requests WITH (security_invoker = true) AS
SELECT
    sent.position,
    begun.originator_id AS stream_id,
    sent.stream_version,
    begun.run_id,
    sent.recorded_at,
    sent.purpose,
    sent.judge,
    sent.turn,
    sent.attempt,
    sent.model,
    sent.endpoint,
    sent.body,
    sent.body_sha256,
    sent.is_as_sent
FROM failproof.stored_events AS begun
CROSS JOIN LATERAL failproof.sent_bodies(begun.originator_id) AS sent
WHERE begun.originator_version = 1 AND begun.topic = 'RequestSent';

COMMENT ON VIEW failproof.sent_requests IS
    'Every request with its whole body. Ask for a stream_id or a run_id: all of a stream is read.';
COMMENT ON COLUMN failproof.sent_requests.is_as_sent IS
    'Whether the SHA-256 of the body is the recorded one; null where a body has a NUL.';
