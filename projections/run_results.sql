-- One row for each evaluation that has begun. Free text is json (a JSON string), which
-- keeps every character exactly, \u0000 included: read it with  response #>> '{}'.
CREATE TABLE prompts (
    prompt_id uuid PRIMARY KEY,
    suite_id text NOT NULL,
    case_id text NOT NULL,
    category text,
    label text,
    severity text,
    tags json NOT NULL
);

CREATE TABLE run_results (
    evaluation_id uuid PRIMARY KEY,
    run_id uuid NOT NULL,
    prompt_id uuid NOT NULL,
    suite_id text,
    case_id text,
    category text,
    severity text,
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
    input_tokens bigint,
    output_tokens bigint,
    latency_ms double precision,
    started_at timestamptz NOT NULL,
    finished_at timestamptz,
    last_position bigint NOT NULL
);
CREATE INDEX run_results_run_id_idx ON run_results (run_id, suite_id, case_id);
