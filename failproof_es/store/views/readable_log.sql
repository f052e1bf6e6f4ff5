-- The log for people: every payload can be looked into.
CREATE OR REPLACE VIEW failproof.readable_log WITH (security_invoker = true) AS
SELECT
    notification_id AS position,
    originator_id AS stream_id,
    originator_version AS stream_version,
    topic AS event_type,
    run_id,
    recorded_at,
    failproof.readable(convert_from(state, 'UTF8')::json) AS payload
FROM failproof.events;

COMMENT ON VIEW failproof.readable_log IS
    'The log for people: a NUL in payload is written as the text \u0000. event_log has the exact JSON.';
