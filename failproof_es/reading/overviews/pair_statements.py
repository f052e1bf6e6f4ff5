"""The SQL statements that compare two runs: the definition of a pair, and the counts of pairs.

A page reads its pairs once and computes everything from that set. All pairs are read in portions of
cases.
"""

from __future__ import annotations

PLANS = """
SELECT count(*) FILTER (WHERE one.prompt_id IS NOT NULL AND two.prompt_id IS NOT NULL),
    count(*) FILTER (WHERE two.prompt_id IS NULL), count(*) FILTER (WHERE one.prompt_id IS NULL)
FROM (SELECT prompt_id FROM projections.planned_cases WHERE run_id = %(base)s) AS one
FULL JOIN (SELECT prompt_id FROM projections.planned_cases WHERE run_id = %(other)s) AS two
    USING (prompt_id)
"""
"""Both plans are in the order of the index: a merge join takes a third of the time of the hash join
that the planner prefers."""
MERGED = "SELECT set_config('enable_hashjoin', %s, true)"
SAME_CASES = """
SELECT c.prompt_id FROM projections.planned_cases AS c
JOIN projections.planned_cases AS d ON d.prompt_id = c.prompt_id AND d.run_id = %(other)s
WHERE c.run_id = %(base)s ORDER BY c.prompt_id LIMIT %(most)s
"""
ALONE = """
SELECT prompt_id FROM projections.planned_cases AS c WHERE run_id = %s AND NOT EXISTS (
    SELECT FROM projections.planned_cases AS d WHERE d.run_id = %s AND d.prompt_id = c.prompt_id
) ORDER BY position, prompt_id
"""
OTHER_VERSIONS = """e.graded_by::text IS DISTINCT FROM f.graded_by::text AND EXISTS (
        SELECT FROM json_each_text(failproof.readable(e.graded_by)) AS mine
        JOIN json_each_text(failproof.readable(f.graded_by)) AS theirs USING (key)
        CROSS JOIN LATERAL regexp_split_to_array(mine.value, '\\s+') AS one
        CROSS JOIN LATERAL regexp_split_to_array(theirs.value, '\\s+') AS other
        WHERE NOT (one <@ other OR other <@ one)
    )"""
"""Whether different versions graded two evaluations, as in `core.pairing.other_versions`."""
_PAIR = f"""
    p.suite_id, p.case_id, p.category, p.tags, f.prompt_id AS other_prompt, e.prompt_id,
    e.repetition, e.evaluation_id AS one_id, f.evaluation_id AS two_id,
    e.passed AS one_passed, f.passed AS two_passed,
    e.class AS one_class, f.class AS two_class,
    e.latency_ms AS one_ms, f.latency_ms AS two_ms,
    coalesce(e.source_evaluation_id, e.evaluation_id)
        = coalesce(f.source_evaluation_id, f.evaluation_id) AS one_answer,
    {OTHER_VERSIONS} AS regraded,
    CASE WHEN e.passed AND NOT f.passed THEN 0 WHEN f.passed AND NOT e.passed THEN 1
        WHEN NOT e.passed THEN 2 ELSE 3 END AS place
"""
_SIDES = f"""
WITH named AS MATERIALIZED (
    SELECT * FROM unnest(%(sides)s::int[], %(one_ids)s::text[]::uuid[], %(two_ids)s::text[]::uuid[])
        AS t (side, one_id, two_id)
), scored AS MATERIALIZED (
    SELECT named.side, {_PAIR}
    FROM named
    CROSS JOIN LATERAL (
        SELECT * FROM projections.evaluations AS each
        WHERE each.evaluation_id = named.one_id AND each.counted AND each.passed IS NOT NULL
        OFFSET 0
    ) AS e
    CROSS JOIN LATERAL (
        SELECT * FROM projections.evaluations AS each
        WHERE each.evaluation_id = named.two_id AND each.counted AND each.passed IS NOT NULL
        OFFSET 0
    ) AS f
    JOIN projections.prompts AS p ON p.prompt_id = e.prompt_id
), pairs AS (
    SELECT * FROM scored WHERE NOT regraded
)
"""
"""Pairs by the ids of both evaluations: each is looked up, however often its case was asked.
Evaluations graded by different versions are no pair."""
_MOST_CHANGED = (
    "SELECT side FROM pairs WHERE place < 2 GROUP BY side ORDER BY count(*) DESC, side LIMIT 1"
)
MOST_CHANGED = f"{_SIDES}{_MOST_CHANGED}"
"""The side with the most pairs that differ; no row if none differs."""
_ORDER = "place, suite_id, case_id, repetition, one_id"
_AFTER = """(%(after)s::int IS NULL OR (place, suite_id, case_id, repetition, one_id)
    > (%(after)s, %(suite)s, %(case)s, %(repetition)s, %(id)s::uuid))"""
_PAIR_COLUMNS = (
    "place, suite_id, case_id, repetition, prompt_id, other_prompt, one_id, two_id, one_passed, "
    "two_passed, one_class, two_class, one_ms, two_ms, category, "
    "one_answer"
)
COMPARISON = f"""{_SIDES}, clusters AS (
    SELECT side,
        count(*) FILTER (WHERE place = 0) AS worse, count(*) FILTER (WHERE place = 1) AS better,
        count(*) FILTER (WHERE place = 2) AS failed, count(*) FILTER (WHERE place = 3) AS passed
    FROM pairs
    GROUP BY side, suite_id, coalesce(
        CASE WHEN tags::text LIKE '%%"paraphrase:%%'
            THEN substring(tags::text FROM '[[,]\\s*("paraphrase:(?:[^"\\\\]|\\\\.)*")') END,
        to_json(case_id)::text
    )
), counted AS (
    SELECT side, worse, better, failed, passed, count(*) AS times FROM clusters
    GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
), chosen AS (
    SELECT coalesce(%(listed)s::int, ({_MOST_CHANGED}), 0) AS side
), groups AS (
    SELECT suite_id, coalesce(category, suite_id) AS category, count(*) AS pairs,
        count(*) FILTER (WHERE place = 0) AS worse, count(*) FILTER (WHERE place = 1) AS better
    FROM pairs JOIN chosen USING (side) GROUP BY 1, 2 HAVING count(*) FILTER (WHERE place < 2) > 0
    ORDER BY abs(count(*) FILTER (WHERE place = 0) - count(*) FILTER (WHERE place = 1)) DESC,
        count(*) FILTER (WHERE place < 2) DESC, 1, 2
    LIMIT 20
), classes AS (
    SELECT place, coalesce(one_class, '-') AS base, coalesce(two_class, '-') AS other,
        count(*) AS pairs
    FROM pairs JOIN chosen USING (side) WHERE place < 2 GROUP BY 1, 2, 3 ORDER BY 1, 4 DESC, 2, 3
), listed AS (
    SELECT {_PAIR_COLUMNS} FROM pairs JOIN chosen USING (side)
    WHERE place = ANY (%(places)s) AND {_AFTER}
    ORDER BY {_ORDER} LIMIT %(limit)s
)
SELECT (SELECT json_agg(json_build_array(side, worse, better, failed, passed, times)) FROM counted),
    (SELECT json_agg(json_build_array(suite_id, category, pairs, worse, better)) FROM groups),
    (SELECT json_agg(json_build_array(place, base, other, pairs)) FROM classes),
    (SELECT json_agg(json_build_array({_PAIR_COLUMNS}) ORDER BY {_ORDER}) FROM listed),
    (SELECT json_object_agg(side, pairs) FROM (
        SELECT side, count(*) AS pairs FROM pairs WHERE one_answer GROUP BY side) AS taken_over),
    (SELECT json_object_agg(side, pairs) FROM (
        SELECT side, count(*) AS pairs FROM scored WHERE regraded GROUP BY side) AS regraded),
    (SELECT side FROM chosen)
"""
"""From one set of pairs: the clusters' counts of each side; for the chosen side the differing
groups, the changed classes and the listed pairs; for each side the number of pairs that are one
carried-over answer, and of would-be pairs that different versions graded; the chosen side, which is
the one with the most pairs that differ unless `listed` names one."""
EVERY_PAIR = f"""{_SIDES}
SELECT {_PAIR_COLUMNS} FROM pairs WHERE place = ANY (%(places)s) ORDER BY {_ORDER}
"""
ANSWERS = """
SELECT evaluation_id, left(answer::text, %s), length(answer::text),
    left(reason::text, %s), length(reason::text)
FROM projections.evaluations WHERE evaluation_id = ANY (%s)
"""
