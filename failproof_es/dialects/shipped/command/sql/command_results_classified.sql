INSERT INTO command_results
    (evaluation_id, run_id, prompt_id, model_key, repetition, category, agreed, actual, reason,
     answered, dangerous)
SELECT * FROM unnest(
    %s::uuid[], %s::uuid[], %s::uuid[], %s::text[], %s::integer[], %s::text[], %s::boolean[],
    %s::json[], %s::json[], %s::boolean[], %s::boolean[]
)
