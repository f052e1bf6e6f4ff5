-- How people annotated each run: the last word on each. Names and tags are escaped like all names
-- (NUL is \u0000); the note is json, which keeps every character: read it with note #>> '{}'.
CREATE TABLE run_annotations (
    run_id uuid PRIMARY KEY,
    name text,
    tags text [] NOT NULL,
    note json NOT NULL,
    hidden boolean NOT NULL,
    who text NOT NULL,
    annotated_at timestamptz NOT NULL,
    position bigint NOT NULL
);
CREATE INDEX run_annotations_hidden_idx ON run_annotations (run_id) WHERE hidden;

COMMENT ON TABLE run_annotations IS 'The name, tags and note that people gave a run.';
COMMENT ON COLUMN run_annotations.run_id IS 'The run; see runs.';
COMMENT ON COLUMN run_annotations.name IS
    'The name in place of the configured one; null: the configured one.';
COMMENT ON COLUMN run_annotations.tags IS 'The tags, in the order in which they were added.';
COMMENT ON COLUMN run_annotations.note IS 'As a JSON string; JSON null without one.';
COMMENT ON COLUMN run_annotations.hidden IS 'Whether lists leave the run out.';
COMMENT ON COLUMN run_annotations.who IS 'The last person who annotated it.';
COMMENT ON COLUMN run_annotations.annotated_at IS 'Time of the last annotation.';
COMMENT ON COLUMN run_annotations.position IS 'The position of that event in the log.';
