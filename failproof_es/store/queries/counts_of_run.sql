-- Which attempt of how many a run is, how many overlap with it, and how many questions it asks.
SELECT
    noted.experiment,
    noted.place,
    (
        SELECT sum(same.runs)::bigint
        FROM failproof.asking_list AS same
        WHERE same.experiment = noted.experiment
    ),
    (
        SELECT coalesce(sum(others.runs), 0)::bigint
        FROM (
            SELECT own.set_id AS other_id WHERE its.questions > 0
            UNION ALL
            SELECT pair.other_id
            FROM failproof.question_shared_list AS pair
            WHERE pair.set_id = own.set_id
        ) AS near
        JOIN failproof.asking_list AS others ON others.set_id = near.other_id
        WHERE others.experiment <> own.experiment AND others.models && own.models
    ),
    its.questions
FROM failproof.run_asked_list AS noted
JOIN failproof.asking_list AS own ON own.asking_id = noted.asking_id
JOIN failproof.question_set_list AS its ON its.set_id = own.set_id
WHERE noted.run_id = %(run)s
