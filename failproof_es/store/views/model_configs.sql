-- Specification 001 § 2.1: every model and judge as it was configured when a run began.
-- Before there could be several judges, a run had `judge`, or none.
CREATE OR REPLACE VIEW promptguard.model_configs WITH (security_invoker = true) AS
SELECT
    r.run_id || ':' || configured.role || ':' || configured.number AS key,
    r.run_id AS test_run_id,
    configured.role,
    m.key AS model_key,
    m.provider,
    m.model,
    m.version,
    s."timestamp"::timestamptz AS created_at,
    promptguard.closed(json_build_object(
        'model_config_id', r.run_id || ':' || configured.role || ':' || configured.number,
        'test_run_id', r.run_id,
        'role', configured.role,
        'key', m.key,
        'provider', m.provider,
        'model', m.model,
        'version', m.version,
        'parameters', m.parameters,
        'settings', m.settings,
        'created_at', s."timestamp"
    )) AS document
FROM failproof.run_list AS r
JOIN promptguard.opened_events AS e ON e.stream_id = r.run_id AND e.version = 1
CROSS JOIN LATERAL json_to_record(e.payload) AS s (
    "timestamp" text, models json, judge json, judges json
)
CROSS JOIN LATERAL (
    SELECT 'target' AS role, number, snapshot
    FROM json_array_elements(s.models) WITH ORDINALITY AS t (snapshot, number)
    UNION ALL
    SELECT 'judge' AS role, number, snapshot
    FROM json_array_elements(
        coalesce(s.judges, CASE WHEN s.judge IS NOT NULL THEN json_build_array(s.judge) END)
    ) WITH ORDINALITY AS j (snapshot, number)
) AS configured
CROSS JOIN LATERAL json_to_record(configured.snapshot) AS m (
    key text, provider text, model text, version text, parameters json, settings json
);

COMMENT ON VIEW promptguard.model_configs IS
    'Every model of every run as it was configured (specification 001 § 2.1); secrets by name.';
COMMENT ON COLUMN promptguard.model_configs.key IS 'The run, the role, and which one of it.';
COMMENT ON COLUMN promptguard.model_configs.test_run_id IS 'The run.';
COMMENT ON COLUMN promptguard.model_configs.role IS 'target or judge.';
COMMENT ON COLUMN promptguard.model_configs.model_key IS 'What the run calls it.';
COMMENT ON COLUMN promptguard.model_configs.provider IS 'Who is asked for it.';
COMMENT ON COLUMN promptguard.model_configs.model IS 'Its name, exactly as asked for.';
COMMENT ON COLUMN promptguard.model_configs.version IS 'The version that was demanded, if one was.';
COMMENT ON COLUMN promptguard.model_configs.created_at IS 'When the run began.';
COMMENT ON COLUMN promptguard.model_configs.document IS 'The whole configuration.';
