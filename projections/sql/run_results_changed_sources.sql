-- Something was recorded of an evaluation after another run had carried it over.
UPDATE runs SET told = false
FROM evaluations AS e
JOIN unnest(%s::uuid[], %s::bigint[]) AS touched (stream_id, position)
    ON e.source_evaluation_id = touched.stream_id
WHERE runs.run_id = e.run_id AND touched.position > e.first_position
