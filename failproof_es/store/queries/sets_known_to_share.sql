-- The sets of cases noted after one that share much with a set, by its digest, and that one.
SELECT other.other_id
FROM failproof.question_set_list AS own
CROSS JOIN LATERAL (
    SELECT own.set_id AS other_id WHERE own.questions > 0
    UNION ALL
    SELECT shared.other_id
    FROM failproof.question_shared_list AS shared
    WHERE shared.set_id = own.set_id
) AS other
WHERE own.digest = %(digest)s AND other.other_id > %(after)s
