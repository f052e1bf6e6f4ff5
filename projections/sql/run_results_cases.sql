-- Where the case of each evaluation was planned and stored, and its words, in the order asked.
SELECT planned.position, prompts.position, prompts.suite_id, prompts.category, prompts.severity,
    prompts.case_id,
    CASE WHEN prompts.tags::text LIKE '%%"paraphrase:%%' THEN prompts.tags::text END
FROM unnest(%s::uuid[], %s::uuid[]) WITH ORDINALITY AS wanted (run_id, prompt_id, place)
LEFT JOIN planned_cases AS planned USING (run_id, prompt_id)
LEFT JOIN prompts USING (prompt_id)
ORDER BY wanted.place
