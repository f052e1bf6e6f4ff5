-- One row for each case, and one for each evaluation that has begun. Free text is json (a
-- JSON string), which keeps every character exactly, \u0000 included: read it with
-- response #>> '{}'.
CREATE TABLE prompts (
    prompt_id uuid PRIMARY KEY,
    suite_id text NOT NULL,
    case_id text NOT NULL,
    category text,
    label text,
    severity text,
    tags json NOT NULL
);

-- Sums are exact, so that they do not depend on the order of adding: no double precision.
-- error_position: where an error was last recorded, or taken back by an answer.
CREATE TABLE evaluations (
    evaluation_id uuid PRIMARY KEY,
    run_id uuid NOT NULL,
    prompt_id uuid NOT NULL,
    model_key text NOT NULL,
    repetition integer NOT NULL,
    status text NOT NULL,
    attempts integer NOT NULL,
    retries integer NOT NULL,
    lost_attempts integer NOT NULL,
    model_answered text,
    response json,
    finish_reason text,
    primary_class text,
    details json,
    scores json,
    accuracy double precision,
    error_kind text,
    error_message json,
    error_position bigint,
    input_tokens numeric,
    output_tokens numeric,
    latency_ms numeric,
    started_at timestamptz NOT NULL,
    finished_at timestamptz,
    last_position bigint NOT NULL
);
CREATE INDEX evaluations_run_idx ON evaluations (run_id);

CREATE VIEW run_results AS
SELECT
    e.evaluation_id,
    e.run_id,
    e.prompt_id,
    p.suite_id,
    p.case_id,
    p.category,
    p.severity,
    e.model_key,
    e.repetition,
    e.status,
    e.attempts,
    e.retries,
    e.lost_attempts,
    e.model_answered,
    e.response,
    e.finish_reason,
    e.primary_class,
    e.details,
    e.scores,
    e.accuracy,
    e.error_kind,
    e.error_message,
    e.input_tokens,
    e.output_tokens,
    e.latency_ms,
    e.started_at,
    e.finished_at,
    e.last_position
FROM evaluations e
LEFT JOIN prompts p USING (prompt_id);
