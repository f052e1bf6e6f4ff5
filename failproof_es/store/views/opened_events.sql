-- The log with payloads that can be looked into: see functions.sql.
CREATE OR REPLACE VIEW promptguard.opened_events WITH (security_invoker = true) AS
SELECT
    notification_id AS position,
    originator_id AS stream_id,
    originator_version AS version,
    topic,
    run_id,
    promptguard.opened(state) AS payload,
    state
FROM failproof.stored_events;

COMMENT ON VIEW promptguard.opened_events IS 'What the collections are made of. Read those.';
