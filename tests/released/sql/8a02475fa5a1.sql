-- Let workers drive a run below this spend ceiling, in US dollars, from now on.
CREATE OR REPLACE FUNCTION failproof.begin_budget(budget_run_id uuid, new_ceiling_usd numeric)
RETURNS void
LANGUAGE sql
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO failproof.run_budgets AS b (run_id, ceiling_usd)
    VALUES (budget_run_id, new_ceiling_usd)
    ON CONFLICT (run_id) DO UPDATE
    SET ceiling_usd = excluded.ceiling_usd, wanted_until = '-infinity';
$$;
