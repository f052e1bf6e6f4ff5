-- Until the transaction ends: so that the relations have one owner, whoever computes them,
-- and that a mistake here cannot touch the log. Without the roles everybody stays who he is.
SELECT set_config('role', r.rolname, true)
FROM pg_roles r
JOIN pg_namespace n ON n.nspowner = r.oid
WHERE r.rolname = 'failproof_projector'
    AND n.nspname = 'projections'
    AND pg_has_role(r.oid, 'MEMBER')
