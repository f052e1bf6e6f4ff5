UPDATE runs SET told = false
WHERE run_id IN (SELECT run_id FROM planned_cases WHERE prompt_id = ANY (%s))
