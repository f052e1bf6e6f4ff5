-- The sets noted after one that share at least half of the cases of the smaller one with these
-- cases, and how many cases. Each of these is looked up.
CREATE OR REPLACE FUNCTION failproof.sets_that_share(
    questions uuid[], after_set bigint
) RETURNS TABLE (other_id bigint, shared bigint)
LANGUAGE sql STABLE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT counted.set_id, counted.shared
    FROM (
        SELECT a.set_id, count(*) AS shared
        FROM unnest(questions) AS key
        JOIN failproof.questions_asked AS a ON a.question = key AND a.set_id > after_set
        WHERE after_set < (SELECT coalesce(max(set_id), 0) FROM failproof.question_sets)
        GROUP BY a.set_id
    ) AS counted
    JOIN failproof.question_sets AS s ON s.set_id = counted.set_id
    WHERE 2 * counted.shared >= least(s.questions, cardinality(sets_that_share.questions));
$$;
