-- Something of the plan was recorded after an evaluation of the run had begun.
UPDATE runs SET told = false
FROM unnest(%s::uuid[], %s::bigint[]) AS planning (run_id, position)
WHERE runs.run_id = planning.run_id AND EXISTS (
    SELECT FROM evaluations AS e
    WHERE e.run_id = planning.run_id AND e.first_position < planning.position
)
