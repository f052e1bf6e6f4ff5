-- The newest run that is noted, and the newest set of cases.
SELECT
    coalesce((SELECT max(run_number) FROM failproof.run_asked_list), 0),
    coalesce((SELECT max(set_id) FROM failproof.question_set_list), 0)
