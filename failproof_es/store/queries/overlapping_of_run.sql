-- The runs that overlap with a run, or those of them before it, the newest first, and how many
-- questions they share.
-- Runs of one asking are asked as a range in the order of its index: no more of them are read than
-- are wanted.
SELECT runs.run_id, near.shared
FROM failproof.run_asked_list AS noted
JOIN failproof.asking_list AS own ON own.asking_id = noted.asking_id
JOIN failproof.question_set_list AS its ON its.set_id = own.set_id
CROSS JOIN LATERAL (
    SELECT own.set_id AS other_id, its.questions AS shared WHERE its.questions > 0
    UNION ALL
    SELECT pair.other_id, pair.shared
    FROM failproof.question_shared_list AS pair
    WHERE pair.set_id = own.set_id
) AS near
JOIN failproof.asking_list AS others
    ON others.set_id = near.other_id
    AND others.experiment <> own.experiment
    AND others.models && own.models
CROSS JOIN LATERAL (
    SELECT listed.run_id, listed.run_number
    FROM failproof.run_asked_list AS listed
    WHERE (listed.asking_id, listed.run_number) <= (
            others.asking_id,
            CASE WHEN %(earlier)s THEN noted.run_number ELSE 9223372036854775807 END
        )
        AND listed.asking_id >= others.asking_id
    ORDER BY listed.asking_id DESC, listed.run_number DESC
    LIMIT %(most)s
) AS runs
WHERE noted.run_id = %(run)s
ORDER BY runs.run_number DESC
LIMIT %(most)s
