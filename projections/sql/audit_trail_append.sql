INSERT INTO audit_trail (position, event, "timestamp", test_run_id, details)
SELECT * FROM unnest(%s::bigint[], %s::text[], %s::timestamptz[], %s::uuid[], %s::json[])
