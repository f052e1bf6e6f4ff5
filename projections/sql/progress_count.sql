-- Add a batch's counts to what stands. Accuracy comes in millionths.
INSERT INTO progress AS p (
    run_id, model_key, planned, requests, answers, errors, retries, lost_attempts, in_flight,
    scored, abandoned, passed, failed, refused, empty, truncated, other, accuracy_sum
)
VALUES (
    %(run_id)s, %(model_key)s, %(planned)s, %(requests)s, %(answers)s, %(errors)s, %(retries)s,
    %(lost_attempts)s, %(in_flight)s, %(scored)s, %(abandoned)s, %(passed)s, %(failed)s,
    %(refused)s, %(empty)s, %(truncated)s, %(other)s, %(accuracy_millionths)s::numeric * 0.000001
)
ON CONFLICT (run_id, model_key) DO UPDATE SET
    planned = p.planned + excluded.planned,
    requests = p.requests + excluded.requests,
    answers = p.answers + excluded.answers,
    errors = p.errors + excluded.errors,
    retries = p.retries + excluded.retries,
    lost_attempts = p.lost_attempts + excluded.lost_attempts,
    in_flight = p.in_flight + excluded.in_flight,
    scored = p.scored + excluded.scored,
    abandoned = p.abandoned + excluded.abandoned,
    passed = p.passed + excluded.passed,
    failed = p.failed + excluded.failed,
    refused = p.refused + excluded.refused,
    empty = p.empty + excluded.empty,
    truncated = p.truncated + excluded.truncated,
    other = p.other + excluded.other,
    accuracy_sum = p.accuracy_sum + excluded.accuracy_sum
