INSERT INTO quiz_choices AS kept VALUES (%s, %s, %s, 1)
ON CONFLICT (run_id, model_key, choice) DO UPDATE SET times = kept.times + 1
