INSERT INTO run_annotations (run_id, name, tags, note, hidden, who, annotated_at, position)
VALUES (
    %s::uuid, %s::text, %s::text[], %s::json, %s::boolean, %s::text, %s::timestamptz, %s::bigint
)
ON CONFLICT (run_id) DO UPDATE SET
    name = excluded.name,
    tags = excluded.tags,
    note = excluded.note,
    hidden = excluded.hidden,
    who = excluded.who,
    annotated_at = excluded.annotated_at,
    position = excluded.position
WHERE excluded.position > run_annotations.position
